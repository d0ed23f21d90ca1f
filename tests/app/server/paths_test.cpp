// SPDX-License-Identifier: Apache-2.0
// Spellings of routes that configured base addresses and client libraries make, over HTTP.
#include <QtTest>

#include "app/server/dialect.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace paths_test {

using namespace lathe;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

namespace {

std::unique_ptr<ServerFixture> serving(const std::string& model_name) {
  ServerFixture::Options options;
  options.server.model_name = model_name;
  return std::make_unique<ServerFixture>(options);
}

}  // namespace

namespace {

/// A body that a route takes.
std::string body_for(std::string_view path) {
  const auto ends = [&](std::string_view end) { return path.ends_with(end); };
  if (path == "/v1/responses") return R"({"input":"ab"})";
  if (path == "/api/embeddings") return R"({"prompt":"ab"})";
  if (ends("/score")) return R"({"text_1":"ab","text_2":"ac"})";
  if (ends("/rerank")) return R"({"query":"ab","documents":["ac"]})";
  if (ends("/pooling") || ends("/classify") || path == "/v1/embeddings" || ends("/embed")) return R"({"input":"ab"})";
  return R"({"prompt":"ab","tokens":[97],"stream":false,"messages":[{"role":"user","content":"ab"}]})";
}

/// No response is stored, and the model has no classifier.
int status_for(std::string_view path) {
  if (path.starts_with("/v1/responses/")) return 404;
  return path.ends_with("/classify") ? 400 : 200;
}

}  // namespace

class PathsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void models_are_found_by_every_spelling_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("asked");
    QTest::addColumn<int>("status");
    const auto row = [](const char* name, const char* asked, int status) {
      QTest::addRow("%s as %s", name, asked) << QByteArray(name) << QByteArray(asked) << status;
    };
    row("org/demo", "org/demo", 200);
    row("org/demo", "org%2Fdemo", 200);
    row("org/demo", "org%2fdemo", 200);
    row("org/demo", "org%2Fdemo/", 200);
    row("org/demo", "org//demo", 200);
    row("org/demo", "%6Frg%2Fd%65mo", 200);
    row("org/demo", "org%2Fdemo?limit=1", 200);
    row("org/demo", "org%2Fother", 404);
    row("org/demo", "org%252Fdemo", 404);
    row("org/demo", "demo", 404);
    row("a b (c)", "a%20b%20(c)", 200);
    row("a b (c)", "a+b+(c)", 404);
    row("caf\xc3\xa9", "caf%C3%A9", 200);
    row("caf\xc3\xa9", "caf%E9", 404);
    row("\xe6\xa8\xa1\xe5\x9e\x8b", "%e6%a8%a1%e5%9e%8b", 200);
    row("llama3:8b", "llama3:8b", 200);
    row("llama3:8b", "llama3%3A8b", 200);
    row("50%", "50%25", 200);
    row("50%", "50%", 400);
    row("/data/models/x", "/data/models/x", 200);  // vLLM's names are paths, and clients join them as they are
    row("/data/models/x", "%2Fdata%2Fmodels%2Fx", 200);
    row("what?", "what%3F", 200);
    row("what#", "what%23", 200);
    row("demo", "demo%00", 404);
    row("demo", "%", 400);
    row("demo", "%zz", 400);
  }
  void models_are_found_by_every_spelling() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, asked);
    QFETCH(int, status);
    const auto fixture = serving(name.toStdString());
    const HttpReply reply = HttpClient(fixture->port()).get("/v1/models/" + asked.toStdString());
    QVERIFY2(reply.status == status, reply.body.c_str());
    if (status == 200) QCOMPARE(reply.json()["id"], name.toStdString());
    else QVERIFY(!reply.json()["error"]["message"].get<std::string>().empty());
    QCOMPARE(fixture->leftovers(), std::string());
  }

  void slashes_too_many_are_read_over_on_every_route() {
    const auto fixture = serving("demo");
    for (const app::Dialect* dialect : app::dialects()) {
      for (const app::Route& route : dialect->routes) {
        std::string path(route.path);
        if (const std::size_t star = path.find('*'); star != path.npos) path.replace(star, 1, "demo");
        const bool posts = route.method == "POST";
        const std::string body = posts ? body_for(path) : "";
        const auto status_of = [&](const std::string& spelled) {
          HttpClient client(fixture->port());
          client.send(client.request(route.method, spelled, body));
          return client.read_reply().status;
        };
        const int plain = status_of(path);
        QVERIFY2(plain == status_for(path), (path + ": " + std::to_string(plain)).c_str());
        std::string doubled = path;
        for (std::size_t at = 0; (at = doubled.find('/', at)) != doubled.npos; at += 2) doubled.insert(at, "/");
        for (const std::string& spelled : {path + "/", path + "//", "/" + path, doubled, path + "/?x=1", path + "?x=/"}) {
          QVERIFY2(status_of(spelled) == plain, spelled.c_str());
        }
      }
    }
    QCOMPARE(fixture->leftovers(), std::string());
  }

  void routes_answer_with_and_without_v1() {
    const auto fixture = serving("demo");
    for (const char* path : {"/models", "/v1/v1/models", "/models/demo", "/v1/health", "/v1/version", "/v1/metrics"}) {
      QCOMPARE(HttpClient(fixture->port()).get(path).status, 200);
    }
    const engine::Json chat = tests::chat_body("a", {{"model", "demo"}});
    QCOMPARE(HttpClient(fixture->port()).post("/chat/completions", chat).json()["object"], "chat.completion");
    QCOMPARE(HttpClient(fixture->port()).post("/messages", chat).json()["type"], "message");
    const HttpReply wrong_method = HttpClient(fixture->port()).get("/chat/completions");
    QCOMPARE(wrong_method.status, 405);
    QVERIFY(wrong_method.field("Allow").find("POST") != std::string::npos);
  }

  void a_wrong_path_names_the_nearest_route_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("named");
    const auto row = [](const char* path, const char* named) {
      QTest::newRow(path) << QByteArray(path) << QByteArray(named);
    };
    row("/api/v1/models/", "did you mean /v1/models?");
    row("/v1/v1/v1/models", "did you mean /v1/models?");
    row("/nothing", "there is no /nothing here");
    row("/v2/nothing", "there is no /v2/nothing here");
  }
  void a_wrong_path_names_the_nearest_route() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, named);
    const auto fixture = serving("demo");
    const HttpReply reply = HttpClient(fixture->port()).get(path.toStdString());
    QCOMPARE(reply.status, 404);
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(QByteArray::fromStdString(message).endsWith(named), message.c_str());
  }

  /// The path as it was sent decides whether it needs a key.
  void other_spellings_of_a_public_path_need_the_key() {
    ServerFixture::Options options;
    options.server.api_key = "sk-secret";
    ServerFixture fixture(options);
    QCOMPARE(HttpClient(fixture.port()).get("/health").status, 200);
    for (const char* path : {"/health/", "//health", "/%68ealth", "/health%2F", "/%"}) {
      QCOMPARE(HttpClient(fixture.port()).get(path).status, 401);
    }
    for (const char* path : {"/health/", "//health", "/%68ealth"}) {
      QCOMPARE(HttpClient(fixture.port()).get(path, "Authorization: Bearer sk-secret\r\n").status, 200);
    }
  }
};

LATHE_TEST(PathsTest)

}  // namespace paths_test
#include "paths_test.moc"
