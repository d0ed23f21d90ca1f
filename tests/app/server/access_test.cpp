// SPDX-License-Identifier: Apache-2.0
#include "app/server/access.h"

#include <QtTest>

#include "app/server/dialect.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace access_test {

using namespace lathe;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class AccessTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void S17_pages_are_refused_unless_listed();
  void S17_listed_page_may_read_the_answer();
  void S17_preflight_of_a_listed_page_needs_no_key();
  void S17_a_listed_loopback_origin_has_any_port_data();
  void S17_a_listed_loopback_origin_has_any_port();
  void S17_a_preflight_gets_the_headers_that_it_asks_for();
  void S17_a_listed_page_gets_the_private_network();
  void S17_no_credentials_and_no_wildcard();
  void S17_a_page_cannot_post_without_a_preflight();
  void S17_a_form_cannot_post();
  void S17_ollama_reads_any_type_but_of_no_page();
  void S17_only_json_is_posted_data();
  void S17_only_json_is_posted();
  void S18_host_must_be_exact_data();
  void S18_host_must_be_exact();
  void S18_posts_to_other_hosts_reach_nothing_data() { S18_host_must_be_exact_data(); }
  void S18_posts_to_other_hosts_reach_nothing();
  void S18_listed_names_are_served();
  void S18_an_absolute_target_holds_for_its_own_request();
  void S18_listed_name_with_a_port_is_taken_literally();
  void S18_port_80_may_be_left_out();
  void S18_two_hosts_are_400();
  void S19_every_route_needs_the_key();
  void S19_health_is_public_and_nothing_else();
  void S19_wrong_keys_are_401_data();
  void S19_wrong_keys_are_401();
  void S19_key_in_the_query_is_no_key();
  void S19_two_authorizations_are_401();
  void S19_other_spellings_of_a_path_are_401();
  void S19_one_megabyte_of_key_is_431();
  void S19_key_is_never_logged();
  void the_right_key_is_served();
  void refusals_stand_in_the_table_of_requests();

 private:
  static constexpr const char* kKey = "sk-lathe-secret";
  static std::unique_ptr<ServerFixture> with_key();
  static std::string key_line() { return "Authorization: Bearer " + std::string(kKey) + "\r\n"; }
};

std::unique_ptr<ServerFixture> AccessTest::with_key() {
  ServerFixture::Options options;
  options.server.api_key = kKey;
  return std::make_unique<ServerFixture>(options);
}

void AccessTest::S17_pages_are_refused_unless_listed() {
  ServerFixture fixture;
  for (const char* origin : {"https://evil.com", "null", "file://", "http://127.0.0.1:9", "http://localhost"}) {
    HttpClient client(fixture.port());
    QCOMPARE(client.get("/health", "Origin: " + std::string(origin) + "\r\n").status, 403);
    client.send(client.request("OPTIONS", "/v1/chat/completions", {},
                               "Origin: " + std::string(origin) + "\r\nAccess-Control-Request-Method: POST\r\n"));
    const HttpReply preflight = client.read_reply();
    QCOMPARE(preflight.status, 403);
    QVERIFY(preflight.field("Access-Control-Allow-Origin").empty());
  }
}

void AccessTest::S17_a_page_cannot_post_without_a_preflight() {
  ServerFixture fixture;
  for (const char* origin : {"https://evil.com", "null", "file://"}) {
    const std::string field = "Origin: " + std::string(origin) + "\r\n";
    for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize"}) {
      QCOMPARE(HttpClient(fixture.port()).post(path, R"({"prompt":"ab"})", field).status, 403);
    }
  }
  QVERIFY(fixture.engine().submitted().empty());
  QCOMPARE(fixture.leftovers(), std::string());
}

void AccessTest::S17_a_form_cannot_post() {
  ServerFixture fixture;
  for (const char* type :
       {"text/plain", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"}) {
    HttpClient client(fixture.port());
    const std::string body = R"({"prompt":"ab"})";
    client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() + "\r\nContent-Type: " + type +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    QCOMPARE(client.read_reply().status, 415);
  }
  QVERIFY(fixture.engine().submitted().empty());
  QCOMPARE(fixture.leftovers(), std::string());
}

/// A form of a web page names its origin, and is refused where the type of the body is not asked for.
void AccessTest::S17_ollama_reads_any_type_but_of_no_page() {
  ServerFixture fixture;
  const std::string body = R"({"prompt":"ab","stream":false})";
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""}) {
    const std::string head = *type == '\0' ? std::string() : "Content-Type: " + std::string(type) + "\r\n";
    for (const char* origin : {"", "https://evil.com", "null"}) {
      HttpClient client(fixture.port());
      const std::string from = *origin == '\0' ? std::string() : "Origin: " + std::string(origin) + "\r\n";
      client.send("POST /api/generate HTTP/1.1\r\nHost: " + client.host() + "\r\n" + head + from +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
      QCOMPARE(client.read_reply().status, *origin == '\0' ? 200 : 403);
    }
  }
  QCOMPARE(fixture.engine().submitted().size(), std::size_t(4));
  QCOMPARE(fixture.leftovers(), std::string());
}

void AccessTest::S17_listed_page_may_read_the_answer() {
  ServerFixture::Options options;
  options.server.allowed_origins = {"https://chat.example"};
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  const HttpReply reply = client.post("/v1/completions", R"({"prompt":"ab"})", "Origin: https://chat.example\r\n");
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.field("Access-Control-Allow-Origin"), "https://chat.example");
  QCOMPARE(reply.field("Vary"), "Origin");
  const HttpReply stream =
      client.post("/v1/completions", R"({"prompt":"ab","stream":true})", "Origin: https://chat.example\r\n");
  QCOMPARE(stream.field("Access-Control-Allow-Origin"), "https://chat.example");
  QCOMPARE(client.get("/health", "Origin: https://chat.example.evil.com\r\n").status, 403);
}

void AccessTest::S17_preflight_of_a_listed_page_needs_no_key() {
  ServerFixture::Options options;
  options.server.allowed_origins = {"https://chat.example"};
  options.server.api_key = kKey;
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  client.send(client.request("OPTIONS", "/v1/chat/completions", {},
                             "Origin: https://chat.example\r\nAccess-Control-Request-Method: POST\r\n"));
  const HttpReply preflight = client.read_reply();
  QCOMPARE(preflight.status, 204);
  QCOMPARE(preflight.field("Access-Control-Allow-Origin"), "https://chat.example");
  QVERIFY(preflight.field("Access-Control-Allow-Headers").find("Authorization") != std::string::npos);
  client.send(client.request("OPTIONS", "/v1/chat/completions"));
  QCOMPARE(client.read_reply().status, 401);
}

void AccessTest::S17_a_listed_loopback_origin_has_any_port_data() {
  QTest::addColumn<QString>("listed");
  QTest::addColumn<QString>("origin");
  QTest::addColumn<bool>("served");
  const auto row = [](const char* listed, const char* origin, bool served) {
    QTest::addRow("%s for %s", listed, origin) << QString(listed) << QString(origin) << served;
  };
  row("http://localhost", "http://localhost", true);
  row("http://localhost", "http://localhost:3000", true);
  row("http://127.0.0.1", "http://127.0.0.1:5173", true);
  row("http://[::1]", "http://[::1]:8080", true);
  row("https://localhost", "https://localhost:3000", true);
  row("http://localhost", "https://localhost:3000", false);
  row("http://localhost", "http://localhost.evil.example", false);
  row("http://localhost", "http://localhost:3000.evil.example", false);
  row("http://localhost", "http://localhost:", false);
  row("http://localhost", "http://localhost:123456", false);
  row("http://localhost:3000", "http://localhost:3001", false);
  row("http://app.example", "http://app.example:3000", false);
}

void AccessTest::S17_a_listed_loopback_origin_has_any_port() {
  QFETCH(QString, listed);
  QFETCH(QString, origin);
  QFETCH(bool, served);
  app::ServerOptions options;
  options.allowed_origins = {listed.toStdString()};
  const app::Access access(options);
  app::http::RequestHead head;
  head.fields = {{"Origin", origin.toStdString()}};
  QCOMPARE(!access.check_origin(head), served);
}

void AccessTest::S17_a_preflight_gets_the_headers_that_it_asks_for() {
  ServerFixture::Options options;
  options.server.allowed_origins = {"http://localhost"};
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  const std::string preflight =
      "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization,x-stainless-lang\r\n";
  client.send(client.request("OPTIONS", "/v1/chat/completions", {}, preflight));
  const HttpReply reply = client.read_reply();
  QCOMPARE(reply.status, 204);
  QCOMPARE(reply.field("Access-Control-Allow-Origin"), std::string("http://localhost:3000"));
  QCOMPARE(reply.field("Access-Control-Allow-Headers"), std::string("authorization,x-stainless-lang"));
}

void AccessTest::S17_a_listed_page_gets_the_private_network() {
  ServerFixture::Options options;
  options.server.allowed_origins = {"https://chat.example"};
  ServerFixture fixture(options);
  const auto preflight = [&](const std::string& origin, const std::string& more) {
    HttpClient client(fixture.port());
    client.send(client.request("OPTIONS", "/v1/chat/completions", {},
                               "Origin: " + origin + "\r\nAccess-Control-Request-Method: POST\r\n" + more));
    return client.read_reply();
  };
  const std::string asks = "Access-Control-Request-Private-Network: true\r\n";
  const HttpReply listed = preflight("https://chat.example", asks);
  QCOMPARE(listed.status, 204);
  QCOMPARE(listed.field("Access-Control-Allow-Private-Network"), "true");
  QVERIFY(preflight("https://chat.example", "").field("Access-Control-Allow-Private-Network").empty());
  const HttpReply other = preflight("https://other.example", asks);
  QCOMPARE(other.status, 403);
  QVERIFY(other.field("Access-Control-Allow-Private-Network").empty());
}

void AccessTest::S17_no_credentials_and_no_wildcard() {
  ServerFixture::Options options;
  options.server.allowed_origins = {"*", "https://chat.example"};
  ServerFixture fixture(options);
  const HttpReply reply = HttpClient(fixture.port()).get("/health", "Origin: https://chat.example\r\n");
  QVERIFY(reply.field("Access-Control-Allow-Credentials").empty());
  QCOMPARE(HttpClient(fixture.port()).get("/health", "Origin: https://other.example\r\n").status, 403);
}

void AccessTest::S17_only_json_is_posted_data() {
  QTest::addColumn<QByteArray>("type");
  QTest::addColumn<bool>("accepted");
  QTest::newRow("json") << QByteArray("application/json") << true;
  QTest::newRow("with charset") << QByteArray("Application/JSON; charset=utf-8") << true;
  QTest::newRow("text") << QByteArray("text/plain") << false;
  QTest::newRow("form") << QByteArray("application/x-www-form-urlencoded") << false;
  QTest::newRow("json in a parameter") << QByteArray("text/plain; application/json") << false;
  QTest::newRow("none") << QByteArray() << false;
}

void AccessTest::S17_only_json_is_posted() {
  QFETCH(QByteArray, type);
  QFETCH(bool, accepted);
  app::http::RequestHead head;
  if (!type.isEmpty()) head.fields.push_back({"Content-Type", type.toStdString()});
  const auto refusal = app::Access::check_media_type(head);
  QCOMPARE(!refusal.has_value(), accepted);
  if (refusal) QCOMPARE(refusal->status, 415);
}

void AccessTest::S18_host_must_be_exact_data() {
  QTest::addColumn<QByteArray>("host");
  QTest::addColumn<bool>("accepted");
  const auto row = [](const char* host, bool accepted) {
    QTest::newRow(*host == '\0' ? "empty" : host) << QByteArray(host) << accepted;
  };
  row("127.0.0.1:8000", true);
  row("localhost:8000", true);
  row("LocalHost:8000", true);
  row("[::1]:8000", true);
  row("evil.com", false);
  row("evil.com:8000", false);
  row("localhost.:8000", false);
  row("127.0.0.1.nip.io:8000", false);
  row("x.local:8000", false);
  row("127.0.0.2:8000", false);
  row("127.0.0.1:8001", false);
  row("127.0.0.1", false);
  row("127.0.0.1:8000:8000", false);
  row("a@127.0.0.1:8000", false);
  row("", false);
}

void AccessTest::S18_host_must_be_exact() {
  QFETCH(QByteArray, host);
  QFETCH(bool, accepted);
  app::http::RequestHead head;
  head.local_address = "127.0.0.1";
  head.local_port = 8000;
  head.fields.push_back({"Host", host.toStdString()});
  const auto refusal = app::Access(app::ServerOptions()).check_host(head);
  QCOMPARE(!refusal.has_value(), accepted);
  if (refusal) QCOMPARE(refusal->status, 421);
}

void AccessTest::S18_posts_to_other_hosts_reach_nothing() {
  QFETCH(QByteArray, host);
  QFETCH(bool, accepted);
  ServerFixture fixture;
  host.replace(":8001", ":1").replace(":8000", ":" + QByteArray::number(fixture.port()));
  {
    HttpClient client(fixture.port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: " + host.toStdString() +
                "\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"prompt\":\"ab\"}");
    QCOMPARE(client.read_reply().status, accepted ? 200 : 421);
  }
  QCOMPARE(fixture.engine().submitted().size(), std::size_t(accepted ? 1 : 0));
  QCOMPARE(fixture.leftovers(), std::string());
}

void AccessTest::S18_listed_names_are_served() {
  ServerFixture::Options options;
  options.server.allowed_hosts = {"api.example"};
  ServerFixture fixture(options);
  HttpClient client(fixture.port());
  client.send("GET /health HTTP/1.1\r\nHost: api.example\r\n\r\n");
  QCOMPARE(client.read_reply().status, 200);
  client.send("GET /health HTTP/1.1\r\nHost: evil.com\r\n\r\n");
  QCOMPARE(client.read_reply().status, 421);
}

void AccessTest::S18_an_absolute_target_holds_for_its_own_request() {
  ServerFixture fixture;
  HttpClient client(fixture.port());
  client.send("GET http://" + client.host() + "/health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  QCOMPARE(client.read_reply().status, 200);
  client.send("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  QCOMPARE(client.read_reply().status, 421);
  client.send("GET http://evil.example/health HTTP/1.1\r\nHost: " + client.host() + "\r\n\r\n");
  QCOMPARE(client.read_reply().status, 421);
  QCOMPARE(client.get("/health").status, 200);
}

void AccessTest::S18_listed_name_with_a_port_is_taken_literally() {
  app::ServerOptions options;
  options.allowed_hosts = {"api.example:443"};
  const app::Access access(options);
  app::http::RequestHead head;
  head.local_address = "127.0.0.1";
  head.local_port = 8000;
  head.fields = {{"Host", "api.example:443"}};
  QVERIFY(!access.check_host(head));
  head.fields = {{"Host", "api.example"}};
  QVERIFY(access.check_host(head));
}

void AccessTest::S18_port_80_may_be_left_out() {
  app::http::RequestHead head;
  head.local_address = "127.0.0.1";
  head.local_port = 80;
  head.fields = {{"Host", "localhost"}};
  QVERIFY(!app::Access(app::ServerOptions()).check_host(head));
}

void AccessTest::S18_two_hosts_are_400() {
  ServerFixture fixture;
  HttpClient client(fixture.port());
  client.send("GET /health HTTP/1.1\r\nHost: " + client.host() + "\r\nHost: " + client.host() + "\r\n\r\n");
  QCOMPARE(client.read_reply().status, 400);
}

void AccessTest::S19_every_route_needs_the_key() {
  const auto fixture = with_key();
  for (const app::Dialect* dialect : app::dialects()) {
    for (const app::Route& route : dialect->routes) {
      if (app::is_public_path(route.path)) continue;
      for (const char* method : {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
        HttpClient client(fixture->port());
        client.send(client.request(method, route.path, "{}"));
        const HttpReply reply = client.read_reply(std::string_view(method) == "HEAD");
        QCOMPARE(reply.status, 401);
        QCOMPARE(reply.field("WWW-Authenticate"), "Bearer");
      }
    }
  }
  QVERIFY(fixture->engine().submitted().empty());
  QCOMPARE(fixture->leftovers(key_line()), std::string());
}

void AccessTest::S19_health_is_public_and_nothing_else() {
  const auto fixture = with_key();
  QCOMPARE(HttpClient(fixture->port()).get("/health").status, 200);
  for (const char* path : {"/", "/metrics", "/version", "/nowhere", "/health/", "/health/x", "/v1/models"}) {
    QCOMPARE(HttpClient(fixture->port()).get(path).status, 401);
  }
}

void AccessTest::S19_wrong_keys_are_401_data() {
  QTest::addColumn<QByteArray>("value");
  QTest::newRow("wrong") << QByteArray("Bearer wrong");
  QTest::newRow("one byte") << QByteArray("Bearer s");
  QTest::newRow("prefix") << QByteArray("Bearer sk-lathe-secre");
  QTest::newRow("longer") << QByteArray("Bearer sk-lathe-secretX");
  QTest::newRow("case") << QByteArray("Bearer SK-LATHE-SECRET");
  QTest::newRow("no scheme") << QByteArray("sk-lathe-secret");
  QTest::newRow("basic") << QByteArray("Basic sk-lathe-secret");
  QTest::newRow("empty") << QByteArray("Bearer ");
  QTest::newRow("two blanks") << QByteArray("Bearer  sk-lathe-secret");
}

void AccessTest::S19_wrong_keys_are_401() {
  QFETCH(QByteArray, value);
  const app::http::BearerKey key(kKey);
  app::http::RequestHead head;
  head.fields.push_back({"Authorization", value.toStdString()});
  QVERIFY(!key.admits(head));

  const auto fixture = with_key();
  const std::string line = "Authorization: " + value.toStdString() + "\r\n";
  QCOMPARE(HttpClient(fixture->port()).get("/v1/models", line).status, 401);
  QCOMPARE(HttpClient(fixture->port()).post("/v1/completions", R"({"prompt":"ab"})", line).status, 401);
  QVERIFY(fixture->engine().submitted().empty());
  QCOMPARE(fixture->leftovers(key_line()), std::string());
}

void AccessTest::S19_key_in_the_query_is_no_key() {
  const auto fixture = with_key();
  const HttpReply reply = HttpClient(fixture->port()).get("/v1/models?api_key=" + std::string(kKey) + "&key=" + kKey);
  QCOMPARE(reply.status, 401);
  QCOMPARE(reply.json()["error"]["code"], "invalid_api_key");
}

void AccessTest::S19_two_authorizations_are_401() {
  const auto fixture = with_key();
  const std::string line = "Authorization: Bearer " + std::string(kKey) + "\r\n";
  QCOMPARE(HttpClient(fixture->port()).get("/v1/models", line + line).status, 401);
  QCOMPARE(fixture->leftovers(key_line()), std::string());
}

void AccessTest::S19_other_spellings_of_a_path_are_401() {
  const auto fixture = with_key();
  const std::pair<const char*, int> paths[] = {{"//v1/models", 200},
                                               {"/v1%2fmodels", 200},
                                               {"/V1/models", 404},
                                               {"/v1/models/", 200},
                                               {"/v1/./models", 404},
                                               {"/health/../v1/models", 404},
                                               {"/health%2f..%2fv1/models", 404}};
  for (const auto& [path, status] : paths) {
    HttpClient client(fixture->port());
    QCOMPARE(client.get(path).status, 401);
    QCOMPARE(client.get(path, "Authorization: Bearer " + std::string(kKey) + "\r\n").status, status);
  }
  QCOMPARE(fixture->leftovers(key_line()), std::string());
}

void AccessTest::S19_one_megabyte_of_key_is_431() {
  const auto fixture = with_key();
  QCOMPARE(
      HttpClient(fixture->port()).get("/v1/models", "Authorization: Bearer " + std::string(1 << 20, 'k') + "\r\n").status,
      431);
  QCOMPARE(fixture->leftovers(key_line()), std::string());
}

void AccessTest::S19_key_is_never_logged() {
  const auto fixture = with_key();
  HttpClient(fixture->port()).get("/v1/models", "Authorization: Bearer " + std::string(kKey) + "X\r\n");
  HttpClient(fixture->port()).get("/v1/models", key_line());
  HttpClient(fixture->port()).get("/v1/models?api_key=" + std::string(kKey));
  HttpClient(fixture->port()).get("/v1/models?api_key=" + std::string(kKey), key_line());
  HttpClient(fixture->port()).post("/v1/completions?key=" + std::string(kKey), R"({"prompt":"ab"})", key_line());
  QCOMPARE(fixture->leftovers(key_line()), std::string());
  std::uint64_t cursor = 0;
  const auto lines = fixture->log().lines_since(cursor);
  QVERIFY(lines.size() >= 6);  // one a request: the fixture logs everything
  for (const app::LogLine& line : lines) QVERIFY2(line.text.find(kKey) == std::string::npos, line.text.c_str());
  const auto rows = fixture->requests().records();
  QCOMPARE(rows.size(), std::size_t(4));  // two refused, two completions
  for (const app::RequestRecord& row : rows) {
    for (const std::string& text : {row.client, row.route, row.model, row.source, row.stop, row.error}) {
      QVERIFY2(text.find(kKey) == std::string::npos, text.c_str());
    }
  }
}

void AccessTest::the_right_key_is_served() {
  const auto fixture = with_key();
  HttpClient client(fixture->port());
  QCOMPARE(client.get("/v1/models", "Authorization: Bearer " + std::string(kKey) + "\r\n").status, 200);
  QCOMPARE(client.get("/v1/models", "authorization: bearer " + std::string(kKey) + "\r\n").status, 200);
}

void AccessTest::refusals_stand_in_the_table_of_requests() {
  const auto fixture = with_key();
  HttpClient(fixture->port()).get("/v1/models", "User-Agent: tester/1\r\n");
  const auto rows = fixture->requests().records();
  QCOMPARE(rows.size(), std::size_t(1));
  QCOMPARE(rows.front().status, app::RequestStatus::refused);
  QCOMPARE(rows.front().http_status, 401);
  QCOMPARE(rows.front().client, "tester/1");
  QCOMPARE(rows.front().route, "/v1/models");
}

LATHE_TEST(AccessTest)

}  // namespace access_test
#include "access_test.moc"
