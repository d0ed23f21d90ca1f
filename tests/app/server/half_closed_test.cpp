// SPDX-License-Identifier: Apache-2.0
// Clients that close their sending side behind a request, and streams that are silent for long.
#include <QtTest>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace half_closed_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

namespace {

std::string body_for(const QByteArray& path, const Json& more) {
  const Json body = path.contains("chat") ? tests::chat_body("abcd", more) : tests::completion_body("abcd", more);
  return engine::dump_json(body);
}

std::string request_for(const HttpClient& client, const QByteArray& path, const QByteArray& version, const Json& more) {
  const std::string body = body_for(path, more);
  return "POST " + path.toStdString() + " HTTP/" + version.toStdString() + "\r\nHost: " + client.host() +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

class HalfClosedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<ServerFixture>(); }
  void cleanup() {
    fixture_->engine().resume();
    const std::string left = fixture_->leftovers();
    fixture_.reset();
    QVERIFY2(left.empty(), left.c_str());
  }

  void the_answer_still_comes_data() { add_rows(); }
  void the_answer_still_comes() {
    HttpClient client(port());
    send(client);
    QFETCH(bool, stream);
    client.half_close();
    QVERIFY(client.await(stream ? ": keep-alive" : "H"));  // the server has seen it
    fixture_->engine().resume();
    const HttpReply reply = client.read_reply();
    QCOMPARE(reply.status, 200);
    QVERIFY(client.closed_by_server());
    if (stream) {
      QVERIFY(reply.body.ends_with("data: [DONE]\n\n"));
      QVERIFY(reply.body.find("\"error\"") == std::string::npos);
    } else {
      QFETCH(int, n);
      QCOMPARE(reply.json()["choices"].size(), std::size_t(n));
      QCOMPARE(reply.field("Content-Length"), std::to_string(reply.body.size()));
    }
    QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(0));
  }

  /// Bytes that are sent early are the beginning of the answer: nothing comes before it.
  void the_first_line_is_whole_data() {
    QTest::addColumn<QByteArray>("version");
    for (const char* version : {"1.0", "1.1"}) QTest::newRow(version) << QByteArray(version);
  }
  void the_first_line_is_whole() {
    QFETCH(QByteArray, version);
    fixture_->engine().pause();
    HttpClient client(port());
    client.send(request_for(client, "/v1/completions", version, Json::object()));
    QVERIFY(fixture_->engine().wait_for_active(1));
    client.half_close();
    QVERIFY(client.await("H"));
    fixture_->engine().resume();
    const std::string all = client.read_to_end();
    QVERIFY2(all.starts_with("HTTP/" + version.toStdString() + " 200 OK\r\nDate: "), all.substr(0, 60).c_str());
  }

  void a_client_that_is_gone_later_is_noticed_data() { add_rows(1); }
  void a_client_that_is_gone_later_is_noticed() {
    HttpClient client(port());
    send(client);
    QFETCH(bool, stream);
    client.half_close();
    QVERIFY(client.await(stream ? ": keep-alive" : "H"));
    client.close();
    QVERIFY(fixture_->engine().wait_for_active(0));
    QFETCH(int, n);
    QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(n));
  }

  void a_client_that_is_gone_at_once_is_noticed_data() { add_rows(); }
  void a_client_that_is_gone_at_once_is_noticed() {
    HttpClient client(port());
    send(client);
    client.close();
    QVERIFY(fixture_->engine().wait_for_active(0));
    QFETCH(int, n);
    QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t(n));
  }

  void every_request_before_the_close_is_answered() {
    HttpClient client(port());
    fixture_->engine().pause();
    client.send(client.request("POST", "/v1/completions", R"({"prompt":"ab"})") +
                client.request("POST", "/v1/completions", R"({"prompt":"cd","stream":true})") +
                client.request("GET", "/version"));
    client.half_close();
    QVERIFY(client.await("H"));
    fixture_->engine().resume();
    QCOMPARE(client.read_reply().json()["choices"][0]["text"], "ab");
    QVERIFY(client.read_reply().body.ends_with("data: [DONE]\n\n"));
    QVERIFY(client.read_reply().json().contains("version"));
    QVERIFY(client.closed_by_server());
  }

  void a_request_that_is_cut_off_is_none() {
    HttpClient client(port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
                "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    client.half_close();
    const HttpReply reply = client.read_reply();
    QCOMPARE(reply.status, 400);
    QVERIFY(reply.body.find("the body ends before") != std::string::npos);
    QVERIFY(client.closed_by_server());
    QVERIFY(fixture_->engine().submitted().empty());
  }

  void a_silent_stream_sends_comments_data() {
    QTest::addColumn<QByteArray>("path");
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) QTest::newRow(path) << QByteArray(path);
  }
  /// Before the first token and between two.
  void a_silent_stream_sends_comments() {
    QFETCH(QByteArray, path);
    ServerFixture::Options options;
    options.server.limits.sse_keep_alive_interval_s = 1;
    fixture_ = std::make_unique<ServerFixture>(options);
    fixture_->engine().answer_with("xyz");
    fixture_->engine().pause();
    HttpClient client(port());
    client.send(request_for(client, path, "1.1", {{"stream", true}}));
    QCOMPARE(client.read_head().status, 200);
    const auto read_to = [&](const std::string& wanted) {
      std::optional<std::string> event = client.read_event();
      while (event && event->find(wanted) == std::string::npos) event = client.read_event();
      return event.has_value();
    };
    QVERIFY(read_to(": keep-alive"));
    fixture_->engine().step(1);
    QVERIFY(read_to("\"x\""));
    QVERIFY(read_to(": keep-alive"));
    fixture_->engine().resume();
    QVERIFY(read_to("[DONE]"));
  }

 private:
  static void add_rows(int most = 2) {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("version");
    QTest::addColumn<bool>("stream");
    QTest::addColumn<int>("n");
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
      for (const char* version : {"1.0", "1.1"}) {
        for (const bool stream : {false, true}) {
          for (int n = 1; n <= most; ++n) {
            QTest::addRow("%s %s, %s of %d", path, version, stream ? "stream" : "whole answer", n)
                << QByteArray(path) << QByteArray(version) << stream << n;
          }
        }
      }
    }
  }

  /// Sends the request of a row to an engine that stands still.
  void send(HttpClient& client) {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, version);
    QFETCH(bool, stream);
    QFETCH(int, n);
    fixture_->engine().pause();
    client.send(request_for(client, path, version, {{"stream", stream}, {"n", n}}));
    QVERIFY(fixture_->engine().wait_for_active(n));
  }

  std::uint16_t port() const { return fixture_->port(); }
  std::unique_ptr<ServerFixture> fixture_;
};

LATHE_TEST(HalfClosedTest)

}  // namespace half_closed_test
#include "half_closed_test.moc"
