// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QtTest>

#include "app/server/access.h"
#include "app/server/base_url.h"
#include "app/server/error_status.h"
#include "app/server/http/listener.h"
#include "app/server/port_owner.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace lifecycle_test {

using namespace lathe;
using engine::ErrorCode;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class LifecycleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void status_tells_address_and_counts();
  void a_stopped_server_starts_again();
  void starting_twice_is_a_conflict();
  void dialects_are_known_while_it_is_off();
  void a_dialect_that_is_off_answers_nothing();
  void urls_are_those_that_this_machine_can_open();
  void curl_command_carries_model_and_key();
  void S16_taken_port_names_the_process_and_offers_another();
  void S16_taken_port_leaves_the_other_listener_alone();
  void S16_privileged_port_is_a_clear_error();
  void S16_address_of_another_machine_is_a_clear_error();
  void S16_names_are_not_resolved();
  void S16_ipv6_loopback_is_served();
  void port_zero_takes_a_free_one();
  void other_machines_need_a_key();
  void limits_below_one_are_refused();
  void without_a_model_requests_are_503_with_what_to_do();
  void health_is_503_until_a_model_is_there();
  void error_codes_map_to_statuses();
};

namespace {

/// A server without a model, on options of its own.
struct BareServer {
  std::unique_ptr<app::Log> log = app::make_log({.to_stderr = false, .level = app::LogLevel::info, .file = {}});
  std::unique_ptr<app::ModelSlot> models = app::make_model_slot(tests::fake_loader({}));
  std::unique_ptr<app::RequestLog> requests = app::make_request_log(*models);
  std::unique_ptr<app::Server> server = app::make_server(*models, *requests, *log);
};

/// The answer to GET /version over ::1, up to the end of the connection.
std::string got_over_ipv6(std::uint16_t port) {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  const std::string request =
      "GET /version HTTP/1.1\r\nHost: [::1]:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n";
  std::string reply;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char bytes[4096];
    for (ssize_t n = 0; (n = ::recv(socket, bytes, sizeof bytes, 0)) > 0;) reply.append(bytes, static_cast<std::size_t>(n));
  }
  ::close(socket);
  return reply;
}

}  // namespace

void LifecycleTest::status_tells_address_and_counts() {
  ServerFixture fixture;
  HttpClient client(fixture.port());
  client.get("/version");
  client.get("/nowhere");
  QTRY_COMPARE(fixture.server().status().n_requests, std::uint64_t(2));  // counted after the answer was sent
  const app::ServerStatus status = fixture.server().status();
  QCOMPARE(status.state, app::ServerState::running);
  QCOMPARE(status.host, "127.0.0.1");
  QVERIFY(status.port > 0);
  QCOMPARE(status.n_errors, std::uint64_t(1));
  QCOMPARE(status.n_connections, 1);
  QCOMPARE(status.dialects.front().n_requests, std::uint64_t(1));
  QCOMPARE(status.dialects.front().base_url, "http://127.0.0.1:" + std::to_string(status.port) + "/v1");
  QVERIFY(status.dialects.front().on);
}

void LifecycleTest::a_stopped_server_starts_again() {
  ServerFixture fixture;
  app::ServerOptions options;
  options.port = fixture.port();
  fixture.server().stop(0);
  QVERIFY(!fixture.server().status().dialects.front().on);
  QVERIFY(fixture.server().start(options).has_value());
  QCOMPARE(HttpClient(options.port).get("/health").status, 200);
}

void LifecycleTest::starting_twice_is_a_conflict() {
  ServerFixture fixture;
  QCOMPARE(fixture.server().start({}).error().code, ErrorCode::conflict);
  QCOMPARE(fixture.server().status().state, app::ServerState::running);
}

void LifecycleTest::dialects_are_known_while_it_is_off() {
  app::ServerOptions options;
  options.host = "0.0.0.0";
  const auto known = app::known_dialects(options, "m", true);
  QVERIFY(!known.empty());
  QCOMPARE(known.front().name, "OpenAI");
  QCOMPARE(known.front().base_url, "http://127.0.0.1:8000/v1");
  QVERIFY(known.front().on);
}

void LifecycleTest::a_dialect_that_is_off_answers_nothing() {
  ServerFixture::Options options;
  options.server.dialects_off = {"OpenAI"};
  ServerFixture fixture(options);
  QCOMPARE(HttpClient(fixture.port()).get("/v1/models").status, 404);
  QVERIFY(!fixture.server().status().dialects.front().on);
}

void LifecycleTest::urls_are_those_that_this_machine_can_open() {
  QCOMPARE(app::base_url("127.0.0.1", 8000), std::string("http://127.0.0.1:8000"));
  QCOMPARE(app::base_url("0.0.0.0", 1), std::string("http://127.0.0.1:1"));
  QCOMPARE(app::address_url("0.0.0.0", 1), std::string("http://0.0.0.0:1"));
  QCOMPARE(app::address_url("::", 1), std::string("http://[::]:1"));
  QCOMPARE(app::base_url("::", 1), std::string("http://[::1]:1"));
  QCOMPARE(app::base_url("fe80::1", 1), std::string("http://[fe80::1]:1"));
  QCOMPARE(app::base_url("[::1]", 1), std::string("http://[::1]:1"));
}

void LifecycleTest::curl_command_carries_model_and_key() {
  app::ServerOptions options;
  options.api_key = "it's";
  const std::string curl = app::known_dialects(options, "my model", true).front().curl;
  QVERIFY(curl.starts_with("curl http://127.0.0.1:8000/v1/chat/completions "));
  QVERIFY(curl.find("\"model\":\"my model\"") != std::string::npos);
  QVERIFY(curl.find("'Authorization: Bearer it'\\''s'") != std::string::npos);
}

void LifecycleTest::S16_taken_port_names_the_process_and_offers_another() {
  ServerFixture first;
  BareServer second;
  app::ServerOptions options;
  options.port = first.port();
  const auto started = second.server->start(options);
  QVERIFY(!started);
  QCOMPARE(started.error().code, ErrorCode::conflict);
  QVERIFY(started.error().message.find("(" + std::to_string(getpid()) + ")") != std::string::npos);
  const app::ServerStatus status = second.server->status();
  QCOMPARE(status.state, app::ServerState::failed);
  QCOMPARE(status.error, started.error().message);
  QVERIFY(status.free_port != 0 && status.free_port != first.port());
}

void LifecycleTest::S16_taken_port_leaves_the_other_listener_alone() {
  ServerFixture first;
  BareServer second;
  app::ServerOptions options;
  options.port = first.port();
  QVERIFY(!second.server->start(options));
  QCOMPARE(HttpClient(first.port()).get("/health").status, 200);
  options.port = 0;
  QVERIFY(second.server->start(options).has_value());  // a failed start is no obstacle to the next
}

void LifecycleTest::S16_privileged_port_is_a_clear_error() {
  BareServer bare;
  app::ServerOptions options;
  options.port = 81;
  const auto started = bare.server->start(options);
  if (started) QSKIP("skipped: this user may listen on any port");
  QCOMPARE(started.error().code, ErrorCode::forbidden);
  QVERIFY(started.error().message.find("1024") != std::string::npos);
}

void LifecycleTest::S16_address_of_another_machine_is_a_clear_error() {
  BareServer bare;
  app::ServerOptions options;
  options.host = "192.0.2.1";  // RFC 5737: nobody's
  options.port = 0;
  options.api_key = "k";
  const auto started = bare.server->start(options);
  QCOMPARE(started.error().code, ErrorCode::invalid_argument);
  QVERIFY(started.error().message.find("192.0.2.1") != std::string::npos);
}

void LifecycleTest::S16_names_are_not_resolved() {
  BareServer bare;
  app::ServerOptions options;
  options.host = "example.com";
  options.api_key = "k";
  QCOMPARE(bare.server->start(options).error().code, ErrorCode::invalid_argument);
}

void LifecycleTest::S16_ipv6_loopback_is_served() {
  BareServer bare;
  app::ServerOptions options;
  options.host = "::1";
  options.port = 0;
  const auto started = bare.server->start(options);
  if (!started) QSKIP("skipped: this machine has no IPv6");
  const std::uint16_t port = bare.server->status().port;
  QCOMPARE(bare.server->status().dialects.front().base_url, "http://[::1]:" + std::to_string(port) + "/v1");
  const std::string reply = got_over_ipv6(port);
  QVERIFY2(reply.starts_with("HTTP/1.1 200 OK\r\n"), reply.c_str());
  QVERIFY(reply.find("\"version\"") != std::string::npos);
}

void LifecycleTest::port_zero_takes_a_free_one() {
  ServerFixture first, second;
  QVERIFY(first.port() != 0 && first.port() != second.port());
}

void LifecycleTest::other_machines_need_a_key() {
  BareServer bare;
  app::ServerOptions options;
  options.host = "0.0.0.0";
  options.port = 0;
  QCOMPARE(bare.server->start(options).error().code, ErrorCode::invalid_argument);
  options.api_key = "k";
  QVERIFY(bare.server->start(options).has_value());
  QCOMPARE(HttpClient(bare.server->status().port).get("/v1/models").status, 401);
}

void LifecycleTest::limits_below_one_are_refused() {
  BareServer bare;
  app::ServerOptions options;
  options.port = 0;
  options.limits.connections = 0;
  QCOMPARE(bare.server->start(options).error().code, ErrorCode::invalid_argument);
}

void LifecycleTest::without_a_model_requests_are_503_with_what_to_do() {
  ServerFixture::Options options;
  options.load = false;
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"}) {
    const HttpReply reply = client.post(path, "{}");
    QCOMPARE(reply.status, 503);
    QCOMPARE(reply.field("Retry-After"), "1");
    QVERIFY(reply.json()["error"]["message"].get<std::string>().find("lathe serve --model DIR") != std::string::npos);
  }
  QVERIFY(client.get("/v1/models").json()["data"].empty());
  QCOMPARE(client.get("/metrics").status, 200);
}

void LifecycleTest::health_is_503_until_a_model_is_there() {
  ServerFixture::Options options;
  options.load = false;
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  QCOMPARE(client.get("/health").status, 503);
  fixture.load({});
  const HttpReply reply = client.get("/health");
  QCOMPARE(reply.status, 200);
  QVERIFY(reply.body.empty());
}

void LifecycleTest::error_codes_map_to_statuses() {
  for (int code = 0; code <= static_cast<int>(ErrorCode::deadline_exceeded); ++code) {
    const int status = app::http_status_of(static_cast<ErrorCode>(code));
    QVERIFY(status >= 400 && status < 600);
    QCOMPARE(app::code_of(status), static_cast<ErrorCode>(code));
  }
  QCOMPARE(app::code_of(431), ErrorCode::invalid_argument);
  QVERIFY(app::is_temporary(429) && app::is_temporary(503) && !app::is_temporary(500));
}

LATHE_TEST(LifecycleTest)

}  // namespace lifecycle_test
#include "lifecycle_test.moc"
