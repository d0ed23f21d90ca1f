// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <thread>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace streams_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class StreamsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void events_are_framed_as_data_and_an_empty_line();
  void each_step_is_sent_at_once();
  void what_comes_while_nobody_reads_is_merged();
  void a_stream_leaves_the_connection_usable();
  void S12_leaving_ends_the_request_data();
  void S12_leaving_ends_the_request();
  void S12_leaving_before_the_body_costs_nothing();
  void S12_leaving_a_whole_answer_ends_it();
  void S12_leaving_the_queue_ends_it();
  void S12_leaving_ends_all_of_eight_answers();
  void S12_leaving_after_the_last_token_is_no_error();
  void S12_leaving_with_a_request_unread_ends_it_data();
  void S12_leaving_with_a_request_unread_ends_it();
  void S12_others_are_untouched();
  void S12_leaving_is_shown_in_the_table();
  void S13_a_reader_that_never_reads_holds_nobody_up();
  void S13_a_stalled_reader_is_dropped();
  void text_that_comes_with_an_error_is_sent_before_it();
  void an_engine_error_is_an_event_then_the_end();
  void an_engine_error_of_a_whole_answer_is_a_500_without_details();
  void one_failed_answer_of_several_is_a_500_too();
  void the_table_tells_what_the_client_got();
  void unloading_ends_streams_with_an_error();
  void stopping_lets_running_streams_finish();
  void stopping_interrupts_what_takes_too_long();
  void stopping_closes_idle_connections();
  void many_streams_at_once_are_each_complete();

 private:
  std::uint16_t port() const { return fixture_->port(); }
  static void leave(HttpClient& client, const QByteArray& how);
  /// Begins a stream with the engine paused and waits until it runs.
  void begin(HttpClient& client, const Json& more = Json::object());

  std::unique_ptr<ServerFixture> fixture_;
};

void StreamsTest::begin(HttpClient& client, const Json& more) {
  Json body = chat_body("a long enough message", {{"stream", true}});
  body.update(more);
  fixture_->engine().pause();
  client.send(client.request("POST", "/v1/chat/completions", engine::dump_json(body)));
  QCOMPARE(client.read_head().status, 200);
}

void StreamsTest::leave(HttpClient& client, const QByteArray& how) {
  if (how == "close") client.close();
  if (how == "half close") client.half_close();
  if (how == "reset") client.reset();
}

void StreamsTest::events_are_framed_as_data_and_an_empty_line() {
  HttpClient client(port());
  const HttpReply reply = client.post("/v1/completions", tests::completion_body("ab", {{"stream", true}}));
  QCOMPARE(reply.field("Content-Type"), "text/event-stream; charset=utf-8");
  QCOMPARE(reply.field("Cache-Control"), "no-cache");
  QVERIFY(reply.body.starts_with("data: {"));
  QVERIFY(reply.body.ends_with("}\n\ndata: [DONE]\n\n"));
  for (std::size_t at = reply.body.find('\n'); at != std::string::npos; at = reply.body.find('\n', at + 2))
    QCOMPARE(reply.body.substr(at, 2), "\n\n");
}

void StreamsTest::each_step_is_sent_at_once() {
  fixture_->engine().answer_with("abc");
  HttpClient client(port());
  begin(client);
  QVERIFY(client.read_event()->find("assistant") != std::string::npos);
  for (const std::string letter : {"a", "b", "c"}) {
    fixture_->engine().step(1);
    QVERIFY(client.read_event()->find("\"content\":\"" + letter + "\"") != std::string::npos);
  }
  fixture_->engine().step(1);
  QVERIFY(client.read_event()->find("\"finish_reason\":\"stop\"") != std::string::npos);
  QCOMPARE(*client.read_event(), "[DONE]");
}

void StreamsTest::what_comes_while_nobody_reads_is_merged() {
  HttpClient client(port());
  client.send(
      client.request("POST", "/v1/completions", R"({"prompt":"x","max_tokens":3000,"ignore_eos":true,"stream":true})"));
  client.read_head();
  std::string text;
  std::size_t n_events = 0;
  while (const auto event = client.read_event()) {
    if (*event == "[DONE]") break;
    text += engine::parse_json(*event, "event").value()["choices"][0]["text"].get<std::string>();
    ++n_events;
  }
  QCOMPARE(text, std::string(3000, 'x'));
  QVERIFY(n_events <= 3000);
}

void StreamsTest::a_stream_leaves_the_connection_usable() {
  HttpClient client(port());
  QCOMPARE(client.post("/v1/completions", tests::completion_body("ab", {{"stream", true}})).status, 200);
  QCOMPARE(client.get("/health").status, 200);
}

void StreamsTest::S12_leaving_ends_the_request_data() {
  QTest::addColumn<int>("n_tokens");
  QTest::addColumn<QByteArray>("how");
  for (const int n_tokens : {0, 3}) {
    for (const char* how : {"close", "reset"})
      QTest::newRow((std::string(how) + " after " + std::to_string(n_tokens)).c_str()) << n_tokens << QByteArray(how);
  }
}

void StreamsTest::S12_leaving_ends_the_request() {
  QFETCH(int, n_tokens);
  QFETCH(QByteArray, how);
  const int n_before = tests::n_open_descriptors();
  HttpClient client(port());
  begin(client);
  client.read_event();
  for (int i = 0; i < n_tokens; ++i) {
    fixture_->engine().step(1);
    client.read_event();
  }
  leave(client, how);
  QVERIFY(fixture_->engine().wait_for_active(0));
  QCOMPARE(fixture_->engine().snapshot()->n_blocks_used, 0);
  QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(1));
  QTRY_COMPARE(fixture_->server().status().n_connections, 0);
  client.close();
  QTRY_COMPARE(tests::n_open_descriptors(), n_before);
}

void StreamsTest::S12_leaving_before_the_body_costs_nothing() {
  {
    HttpClient client(port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
                "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  }
  QCOMPARE(HttpClient(port()).post("/v1/completions", tests::completion_body("ab")).status, 200);
  QCOMPARE(fixture_->engine().submitted().size(), std::size_t(1));
}

void StreamsTest::S12_leaving_a_whole_answer_ends_it() {
  fixture_->engine().pause();
  HttpClient client(port());
  client.send(client.request("POST", "/v1/completions", R"({"prompt":"x"})"));
  QVERIFY(fixture_->engine().wait_for_active(1));
  client.close();
  QVERIFY(fixture_->engine().wait_for_active(0));
  QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(1));
  QTRY_COMPARE(fixture_->server().status().n_connections, 0);
}

void StreamsTest::S12_leaving_the_queue_ends_it() {
  tests::FakeModel model;
  model.max_num_seqs = 1;
  fixture_->load(model);
  HttpClient first(port()), queued(port());
  begin(first);
  QVERIFY(fixture_->engine().wait_for_active(1));
  begin(queued);
  QVERIFY(fixture_->engine().wait_for_active(2));
  queued.close();
  QVERIFY(fixture_->engine().wait_for_active(1));
  QCOMPARE(fixture_->engine().snapshot()->n_running, 1);
  QTRY_COMPARE(fixture_->server().status().n_connections, 1);
}

void StreamsTest::S12_leaving_ends_all_of_eight_answers() {
  HttpClient client(port());
  begin(client, {{"n", 8}});
  QVERIFY(fixture_->engine().wait_for_active(8));
  fixture_->engine().step(2);
  client.reset();
  QVERIFY(fixture_->engine().wait_for_active(0));
  QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(8));
  QCOMPARE(fixture_->engine().snapshot()->n_blocks_used, 0);
  QTRY_COMPARE(fixture_->server().status().n_connections, 0);
}

void StreamsTest::S12_leaving_after_the_last_token_is_no_error() {
  fixture_->engine().answer_with("ab");
  const int n_before = tests::n_open_descriptors();
  for (const char* how : {"close", "half close", "reset"}) {
    HttpClient client(port());
    begin(client);
    fixture_->engine().step(3);  // two letters and the end
    std::optional<std::string> event = client.read_event();
    while (event && event->find("\"finish_reason\":\"stop\"") == std::string::npos) event = client.read_event();
    QVERIFY(event.has_value());
    leave(client, how);  // "[DONE]" was not read
    QVERIFY(fixture_->wait_for_row(app::RequestStatus::done));
    client.close();
    QTRY_COMPARE(fixture_->server().status().n_connections, 0);
  }
  QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(0));
  QCOMPARE(fixture_->server().status().n_requests, std::uint64_t(3));
  QCOMPARE(fixture_->server().status().n_errors, std::uint64_t(0));
  QTRY_COMPARE(tests::n_open_descriptors(), n_before);
}

void StreamsTest::S12_leaving_with_a_request_unread_ends_it_data() {
  QTest::addColumn<QByteArray>("how");
  for (const char* how : {"close", "reset"}) QTest::newRow(how) << QByteArray(how);
}

/// Bytes of the next request lie before the end that tells of the leaving.
void StreamsTest::S12_leaving_with_a_request_unread_ends_it() {
  QFETCH(QByteArray, how);
  const int n_before = tests::n_open_descriptors();
  HttpClient client(port());
  begin(client);
  client.read_event();
  client.send(client.request("POST", "/v1/completions", R"({"prompt":"pipelined"})"));
  fixture_->engine().step(1);
  client.read_event();
  leave(client, how);
  QVERIFY(fixture_->engine().wait_for_active(0));
  QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(1));
  QTRY_COMPARE(fixture_->server().status().n_connections, 0);
  QCOMPARE(fixture_->engine().submitted().size(), std::size_t(1));
  client.close();
  QTRY_COMPARE(tests::n_open_descriptors(), n_before);
}

void StreamsTest::S12_others_are_untouched() {
  fixture_->engine().answer_with("untouched");
  HttpClient witness(port());
  begin(witness);
  for (int i = 0; i < 10; ++i) {
    HttpClient leaver(port());
    begin(leaver);
    leaver.read_event();
    if (i % 2 == 0) leaver.reset();
  }
  QVERIFY(fixture_->engine().wait_for_active(1));
  fixture_->engine().resume();
  std::string text;
  while (const auto event = witness.read_event()) {
    if (*event != "[DONE]") text += engine::parse_json(*event, "event").value()["choices"][0]["delta"].value("content", "");
  }
  QCOMPARE(text, "untouched");
}

void StreamsTest::S12_leaving_is_shown_in_the_table() {
  HttpClient client(port());
  begin(client);
  client.reset();
  QVERIFY(fixture_->wait_for_row(app::RequestStatus::cancelled));
  QCOMPARE(fixture_->requests().records().front().stop, "client");
}

void StreamsTest::S13_a_reader_that_never_reads_holds_nobody_up() {
  tests::FakeModel model;
  model.max_model_len = 4'000'000;
  fixture_->load(model);
  HttpClient deaf(port());
  deaf.send(
      deaf.request("POST", "/v1/completions", R"({"prompt":"x","max_tokens":3000000,"ignore_eos":true,"stream":true})"));
  QVERIFY(fixture_->engine().wait_for_active(1));
  QCOMPARE(HttpClient(port()).post("/v1/completions", tests::completion_body("ab")).json()["choices"][0]["text"], "ab");
  deaf.reset();
  QVERIFY(fixture_->engine().wait_for_active(0));
}

void StreamsTest::S13_a_stalled_reader_is_dropped() {
  ServerFixture::Options options;
  options.model.max_model_len = 4'000'000;
  options.server.limits.write_stall_timeout_s = 1;
  fixture_ = std::make_unique<ServerFixture>(options);
  HttpClient deaf(port(), 4096);
  deaf.send(deaf.request("POST", "/v1/completions",
                         R"({"prompt":"x","max_tokens":3000000,"ignore_eos":true,"stream":true,"return_token_ids":true})"));
  QVERIFY(fixture_->engine().wait_for_active(1));
  QVERIFY(fixture_->engine().wait_for_active(0));
  QTRY_COMPARE(fixture_->server().status().n_connections, 0);
}

void StreamsTest::an_engine_error_is_an_event_then_the_end() {
  fixture_->engine().fail_after(2, engine::Error{engine::ErrorCode::internal, "NaN at 0x7ffe in /home/me/model", {}});
  HttpClient client(port());
  const HttpReply reply = client.post("/v1/chat/completions", chat_body("Hello", {{"stream", true}}));
  QCOMPARE(reply.status, 200);
  QVERIFY(reply.body.find("{\"error\":{\"message\":") != std::string::npos);
  QVERIFY(reply.body.find("/home") == std::string::npos);
  QVERIFY(reply.body.find("finish_reason\":\"stop") == std::string::npos);
  QVERIFY(reply.body.ends_with("data: [DONE]\n\n"));
  QVERIFY(client.closed_by_server());
}

void StreamsTest::text_that_comes_with_an_error_is_sent_before_it() {
  fixture_->engine().fail_after(2, engine::Error{engine::ErrorCode::internal, "NaN", {}}, "held back");
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    const bool chat = std::string(path).find("chat") != std::string::npos;
    const Json more = {{"stream", true}};
    const HttpReply reply =
        HttpClient(port()).post(path, chat ? chat_body("Hello", more) : tests::completion_body("Hello", more));
    const std::size_t text = reply.body.find("held back"), error = reply.body.find("{\"error\":{\"message\":");
    QVERIFY2(text != std::string::npos && error != std::string::npos && text < error, reply.body.c_str());
    QVERIFY(reply.body.find("finish_reason\":\"error") == std::string::npos);
    QVERIFY(reply.body.ends_with("data: [DONE]\n\n"));
  }
}

void StreamsTest::an_engine_error_of_a_whole_answer_is_a_500_without_details() {
  fixture_->engine().fail_after(2, engine::Error{engine::ErrorCode::internal, "NaN at 0x7ffe in /home/me/model", {}});
  const HttpReply reply = HttpClient(port()).post("/v1/chat/completions", chat_body("Hello", {{"n", 3}}));
  QCOMPARE(reply.status, 500);
  QVERIFY(reply.body.find("/home") == std::string::npos);
  QVERIFY(fixture_->engine().wait_for_active(0));
}

void StreamsTest::one_failed_answer_of_several_is_a_500_too() {
  fixture_->engine().fail_after(1, engine::Error{engine::ErrorCode::internal, "NaN", {}});
  fixture_->engine().fail_only(8);
  fixture_->engine().pause();
  HttpClient client(port());
  client.send(client.request("POST", "/v1/completions",
                             engine::dump_json(tests::completion_body("abcdef", {{"n", 2}, {"seed", 7}}))));
  QVERIFY(fixture_->engine().wait_for_active(2));
  fixture_->engine().step(2);  // the second answer fails, then the first is cancelled on its account
  const HttpReply reply = client.read_reply();
  QCOMPARE(reply.status, 500);
  QCOMPARE(reply.field("Retry-After"), std::string());
}

void StreamsTest::the_table_tells_what_the_client_got() {
  const auto status_of_newest = [this] { return fixture_->requests().records().front().http_status; };
  HttpClient client(port());
  QCOMPARE(client.post("/v1/chat/completions", chat_body("Hello", {{"n", 2}})).status, 200);
  for (const auto& row : {0U, 1U}) QTRY_COMPARE(fixture_->requests().records()[row].http_status, 200);
  QCOMPARE(client.post("/v1/chat/completions", chat_body("Hello", {{"stream", true}})).status, 200);
  QTRY_COMPARE(status_of_newest(), 200);
  fixture_->engine().fail_after(1, engine::Error{engine::ErrorCode::internal, "NaN", {}});
  QCOMPARE(client.post("/v1/chat/completions", chat_body("Hello")).status, 500);
  QTRY_COMPARE(status_of_newest(), 500);
  fixture_->engine().fail_after(-1, {});
  begin(client);
  QCOMPARE(status_of_newest(), 0);
  client.reset();
  QTRY_COMPARE(status_of_newest(), 499);
  HttpClient waiting(port());
  waiting.send(waiting.request("POST", "/v1/chat/completions", engine::dump_json(chat_body("Hello"))));
  QVERIFY(fixture_->engine().wait_for_active(1));
  fixture_->models().unload();
  QCOMPARE(waiting.read_reply().status, 503);
  QTRY_COMPARE(status_of_newest(), 503);
}

void StreamsTest::unloading_ends_streams_with_an_error() {
  HttpClient client(port());
  begin(client);
  client.read_event();
  fixture_->models().unload();
  QVERIFY(client.read_event()->find("\"error\"") != std::string::npos);
  QCOMPARE(HttpClient(port()).post("/v1/completions", tests::completion_body("ab")).status, 503);
}

void StreamsTest::stopping_lets_running_streams_finish() {
  fixture_->engine().answer_with("done");
  HttpClient client(port());
  begin(client);
  std::thread stopper([this] { fixture_->server().stop(20'000); });
  while (fixture_->server().status().state == app::ServerState::running) std::this_thread::yield();
  fixture_->engine().resume();
  std::string all;
  while (const auto event = client.read_event()) all += *event;
  stopper.join();
  QVERIFY(all.ends_with("[DONE]"));
  QVERIFY(all.find("error") == std::string::npos);
  QCOMPARE(fixture_->server().status().state, app::ServerState::off);
}

void StreamsTest::stopping_interrupts_what_takes_too_long() {
  HttpClient client(port());
  begin(client);
  client.read_event();
  HttpClient whole(port());
  whole.send(whole.request("POST", "/v1/completions", R"({"prompt":"x"})"));
  QVERIFY(fixture_->engine().wait_for_active(2));
  fixture_->server().stop(1);
  QVERIFY(client.read_event()->find("server is stopping") != std::string::npos);
  QCOMPARE(whole.read_reply().status, 503);
  QCOMPARE(fixture_->engine().n_active(), 0);
}

void StreamsTest::stopping_closes_idle_connections() {
  HttpClient idle(port()), halfway(port());
  QCOMPARE(idle.get("/health").status, 200);
  halfway.send("GET /health HT");
  fixture_->server().stop(20'000);
  QVERIFY(idle.closed_by_server());
  QVERIFY(halfway.closed_by_server());
  QCOMPARE(fixture_->server().status().n_connections, 0);
}

void StreamsTest::many_streams_at_once_are_each_complete() {
  fixture_->engine().answer_with(
      [](const engine::GenerateRequest& request) { return std::string(100, 'x') + std::to_string(*request.sampling.seed); });
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->send(clients.back()->request("POST", "/v1/chat/completions",
                                                 engine::dump_json(chat_body("Hi", {{"stream", true}, {"seed", i}}))));
  }
  for (int i = 0; i < 100; ++i) {
    HttpClient& client = *clients[static_cast<std::size_t>(i)];
    QCOMPARE(client.read_head().status, 200);
    std::string text;
    while (const auto event = client.read_event()) {
      if (*event != "[DONE]")
        text += engine::parse_json(*event, "event").value()["choices"][0]["delta"].value("content", "");
    }
    QCOMPARE(text, std::string(100, 'x') + std::to_string(i));
  }
  QVERIFY(fixture_->engine().wait_for_active(0));
}

LATHE_TEST(StreamsTest)

}  // namespace streams_test
#include "streams_test.moc"
