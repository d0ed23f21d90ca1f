// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <QtTest>
#include <list>

#include "tests/support/bad_bodies.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace connection_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class ConnectionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init();
  void cleanup();

  void a_connection_serves_many_requests();
  void pipelined_requests_are_answered_in_order();
  void a_request_behind_a_stream_is_answered_after_it();
  void connection_close_is_obeyed();
  void http_1_0_closes_and_is_never_chunked();
  void http_1_0_stream_ends_with_the_connection();
  void head_has_the_length_and_no_body();
  void options_says_what_is_allowed();
  void a_wrong_method_is_405_with_the_right_ones();
  void a_wrong_path_is_404();
  void a_body_may_come_in_chunks();
  void continue_is_sent_when_expected();
  void continue_is_not_sent_for_a_refused_request();
  void a_body_may_come_byte_by_byte();
  void S1_body_of_the_limit_is_served_and_one_more_is_413();
  void S1_chunked_body_without_end_is_413();
  void S1_a_million_tiny_chunks_are_served();
  void S1_broken_framing_is_400_and_closed_data();
  void S1_broken_framing_is_400_and_closed();
  void S1_expect_without_body_is_served();
  void S2_large_headers_are_431_and_closed();
  void S2_other_protocols_are_400_and_closed();
  void S2_absolute_target_of_this_server_is_served();
  void S14_slow_header_is_408();
  void S14_slow_body_is_408();
  void S14_too_many_connections_get_503();
  void S14_accepting_survives_the_end_of_descriptors();

 private:
  std::uint16_t port() const { return fixture_->port(); }
  /// Sends raw bytes on a new connection and reads the reply; then the server must have closed.
  int refused_status(const std::string& bytes);

  std::unique_ptr<ServerFixture> fixture_;
};

void ConnectionTest::init() {
  ServerFixture::Options options;
  options.server.limits.body_bytes = 1 << 20;
  fixture_ = std::make_unique<ServerFixture>(options);
}

/// D4, D6: after every test nothing is left, and the next good request is served.
void ConnectionTest::cleanup() {
  const std::string left = fixture_->leftovers();
  fixture_.reset();
  QVERIFY2(left.empty(), left.c_str());
}

int ConnectionTest::refused_status(const std::string& bytes) {
  HttpClient client(port());
  client.send(bytes);
  const HttpReply reply = client.read_reply();
  return client.closed_by_server() ? reply.status : -reply.status;
}

void ConnectionTest::a_connection_serves_many_requests() {
  HttpClient client(port());
  for (int i = 0; i < 5; ++i) QCOMPARE(client.get("/health").status, 200);
  QCOMPARE(client.post("/v1/chat/completions", chat_body("Hi")).status, 200);
  QCOMPARE(client.get("/version").status, 200);
}

void ConnectionTest::pipelined_requests_are_answered_in_order() {
  HttpClient client(port());
  client.send(client.request("GET", "/version") + client.request("POST", "/v1/completions", R"({"prompt":"ab"})") +
              client.request("GET", "/nowhere"));
  QVERIFY(client.read_reply().json().contains("version"));
  QCOMPARE(client.read_reply().json()["choices"][0]["text"], "ab");
  QCOMPARE(client.read_reply().status, 404);
}

void ConnectionTest::a_request_behind_a_stream_is_answered_after_it() {
  HttpClient client(port());
  fixture_->engine().pause();
  client.send(client.request("POST", "/v1/completions", R"({"prompt":"ab","stream":true})") +
              client.request("GET", "/version"));
  QVERIFY(fixture_->engine().wait_for_active(1));
  fixture_->engine().resume();
  QCOMPARE(client.read_reply().status, 200);
  QVERIFY(client.read_reply().json().contains("version"));
}

void ConnectionTest::connection_close_is_obeyed() {
  HttpClient client(port());
  const HttpReply reply = client.get("/health", "Connection: close\r\n");
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.field("Connection"), "close");
  QVERIFY(client.closed_by_server());
}

void ConnectionTest::http_1_0_closes_and_is_never_chunked() {
  HttpClient client(port());
  client.send("GET /version HTTP/1.0\r\n\r\n");
  const HttpReply reply = client.read_reply();
  QCOMPARE(reply.status, 200);
  QVERIFY(!reply.field("Content-Length").empty());
  QVERIFY(client.closed_by_server());
}

void ConnectionTest::http_1_0_stream_ends_with_the_connection() {
  HttpClient client(port());
  const std::string body = R"({"prompt":"ab","stream":true})";
  client.send("POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const HttpReply reply = client.read_head();
  QCOMPARE(reply.status, 200);
  QVERIFY(reply.field("Transfer-Encoding").empty());
  QVERIFY(client.read_to_end().ends_with("data: [DONE]\n\n"));
}

void ConnectionTest::head_has_the_length_and_no_body() {
  HttpClient client(port());
  const std::size_t size = client.get("/version").body.size();
  client.send(client.request("HEAD", "/version"));
  const HttpReply head = client.read_reply(true);
  QCOMPARE(head.status, 200);
  QCOMPARE(head.field("Content-Length"), std::to_string(size));
  QCOMPARE(client.get("/health").status, 200);  // nothing of a body stands before this answer
}

void ConnectionTest::options_says_what_is_allowed() {
  HttpClient client(port());
  client.send(client.request("OPTIONS", "/v1/models"));
  const HttpReply reply = client.read_reply();
  QCOMPARE(reply.status, 204);
  QCOMPARE(reply.field("Allow"), "GET, HEAD, OPTIONS");
}

void ConnectionTest::a_wrong_method_is_405_with_the_right_ones() {
  HttpClient client(port());
  const HttpReply reply = client.get("/v1/chat/completions");
  QCOMPARE(reply.status, 405);
  QCOMPARE(reply.field("Allow"), "POST, OPTIONS");
  client.send(client.request("BREW", "/health"));
  QCOMPARE(client.read_reply().status, 405);
}

void ConnectionTest::a_wrong_path_is_404() {
  const HttpReply reply = HttpClient(port()).get("/v2/chat");
  QCOMPARE(reply.status, 404);
  QCOMPARE(reply.json()["error"]["type"], "not_found_error");
}

void ConnectionTest::a_body_may_come_in_chunks() {
  HttpClient client(port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
              "\r\nContent-Type: application/json\r\nTransfer-Encoding: "
              "chunked\r\n\r\n8\r\n{\"prompt\r\n7;x=y\r\n\":\"ab\"}\r\n0\r\nTrailer: z\r\n\r\n");
  QCOMPARE(client.read_reply().json()["choices"][0]["text"], "ab");
  QCOMPARE(client.get("/health").status, 200);
}

void ConnectionTest::continue_is_sent_when_expected() {
  HttpClient client(port());
  const std::string whole = client.request("POST", "/v1/completions", R"({"prompt":"ab"})", "Expect: 100-continue\r\n");
  const std::size_t head = whole.find("\r\n\r\n") + 4;
  client.send(whole.substr(0, head));
  QCOMPARE(client.read_head().status, 100);
  client.send(whole.substr(head));
  QCOMPARE(client.read_reply().status, 200);
}

void ConnectionTest::continue_is_not_sent_for_a_refused_request() {
  HttpClient client(port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
              "\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  QCOMPARE(client.read_reply().status, 415);
  QVERIFY(client.closed_by_server());
}

void ConnectionTest::a_body_may_come_byte_by_byte() {
  HttpClient client(port());
  for (const char c : client.request("POST", "/v1/completions", R"({"prompt":"ab"})")) client.send(std::string_view(&c, 1));
  QCOMPARE(client.read_reply().status, 200);
}

void ConnectionTest::S1_body_of_the_limit_is_served_and_one_more_is_413() {
  const std::string head = R"({"prompt":"ab","user":")", tail = "\"}";
  const std::string fits = head + std::string((1 << 20) - head.size() - tail.size(), 'x') + tail;
  HttpClient client(port());
  QCOMPARE(client.post("/v1/completions", fits).status, 200);
  const HttpReply reply = client.post("/v1/completions", fits + " ");
  QCOMPARE(reply.status, 413);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("1048576") != std::string::npos);
  QVERIFY(client.closed_by_server());
}

void ConnectionTest::S1_chunked_body_without_end_is_413() {
  HttpClient client(port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
              "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
  for (int i = 0; i < 18; ++i) client.send(chunk);
  QCOMPARE(client.read_reply().status, 413);
  QVERIFY(client.closed_by_server());
  QVERIFY(fixture_->engine().submitted().empty());
}

void ConnectionTest::S1_a_million_tiny_chunks_are_served() {
  HttpClient client(port());
  std::string bytes = "POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
                      "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = R"({"prompt":"ab")" + std::string(1'000'000, ' ') + "}";
  for (const char c : body) bytes += std::string("1\r\n") + c + "\r\n";
  client.send(bytes + "0\r\n\r\n");
  QCOMPARE(client.read_reply().status, 200);
}

void ConnectionTest::S1_broken_framing_is_400_and_closed_data() {
  QTest::addColumn<QByteArray>("fields");
  for (const tests::BadFraming& bad : tests::bad_framings()) {
    QTest::newRow(bad.name.c_str()) << QByteArray::fromStdString(bad.text);
  }
}

void ConnectionTest::S1_broken_framing_is_400_and_closed() {
  QFETCH(QByteArray, fields);
  QCOMPARE(refused_status("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) +
                          "\r\nContent-Type: application/json\r\n" + fields.toStdString()),
           400);
}

void ConnectionTest::S1_expect_without_body_is_served() {
  HttpClient client(port());
  QCOMPARE(client.get("/health", "Expect: 100-continue\r\n").status, 200);
}

void ConnectionTest::S2_large_headers_are_431_and_closed() {
  const std::string start = "GET /health HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) + "\r\n";
  QCOMPARE(refused_status(start + "X: " + std::string(1 << 20, 'y') + "\r\n\r\n"), 431);
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += "X: y\r\n";
  QCOMPARE(refused_status(start + lines + "\r\n"), 431);
  QCOMPARE(refused_status(start + std::string(100'000, 'y')), 431);
}

void ConnectionTest::S2_other_protocols_are_400_and_closed() {
  QCOMPARE(refused_status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400);
  QCOMPARE(refused_status(std::string("\x16\x03\x01\x00\xa5", 5)), 400);
  QCOMPARE(refused_status("GET /health\r\n"), 400);
  QCOMPARE(refused_status("GET /health HTTP/1.1\r\n\r\n"), 400);
}

void ConnectionTest::S2_absolute_target_of_this_server_is_served() {
  HttpClient client(port());
  QCOMPARE(client.get("http://" + client.host() + "/health").status, 200);
  QCOMPARE(client.get("http://evil.com/health").status, 421);
}

void ConnectionTest::S14_slow_header_is_408() {
  ServerFixture::Options options;
  options.server.limits.header_timeout_s = 1;
  fixture_ = std::make_unique<ServerFixture>(options);
  QCOMPARE(refused_status("GET /health HTTP/1.1\r\n"), 408);
}

void ConnectionTest::S14_slow_body_is_408() {
  ServerFixture::Options options;
  options.server.limits.body_idle_timeout_s = 1;
  fixture_ = std::make_unique<ServerFixture>(options);
  QCOMPARE(refused_status("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) +
                          "\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"),
           408);
}

void ConnectionTest::S14_too_many_connections_get_503() {
  ServerFixture::Options options;
  options.server.limits.connections = 2;
  fixture_ = std::make_unique<ServerFixture>(options);
  HttpClient first(port()), second(port());
  QCOMPARE(first.get("/health").status, 200);
  QCOMPARE(second.get("/health").status, 200);
  HttpClient third(port());
  const HttpReply reply = third.read_reply();
  QCOMPARE(reply.status, 503);
  QCOMPARE(reply.field("Retry-After"), "1");
  QCOMPARE(first.get("/health").status, 200);
}

void ConnectionTest::S14_accepting_survives_the_end_of_descriptors() {
  HttpClient witness(port());
  QCOMPARE(witness.get("/health").status, 200);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  std::list<HttpClient> crowd;
  rlimit tight = before;
  tight.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &tight);
  for (int i = 0; i < 64; ++i) crowd.emplace_back(port());  // both ends are descriptors of this process
  QCOMPARE(witness.get("/health").status, 200);
  crowd.clear();
  setrlimit(RLIMIT_NOFILE, &before);
  QCOMPARE(HttpClient(port()).get("/health").status, 200);
}

LATHE_TEST(ConnectionTest)

}  // namespace connection_test
#include "connection_test.moc"
