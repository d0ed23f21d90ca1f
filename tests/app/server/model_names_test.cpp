// SPDX-License-Identifier: Apache-2.0
// Names under which the model is served, ids of requests, and resets of the prefix cache, over HTTP.
#include <QtTest>

#include "tests/support/chat_stream.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace model_names_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class ModelNamesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_served_name_answers_with_the_first() {
    ServerFixture::Options options;
    options.server.model_name = "first";
    options.server.other_model_names = {"second", "org/third"};
    const ServerFixture fixture(options);
    for (const char* name : {"first", "second", "org/third"}) {
      const HttpReply reply = tests::post_chat(fixture.port(), chat_body("Hi", {{"model", name}}));
      QCOMPARE(reply.status, 200);
      QCOMPARE(reply.json()["model"], "first");
      QCOMPARE(HttpClient(fixture.port()).get(std::string("/v1/models/") + name).json()["id"], name);
    }
    const Json list = HttpClient(fixture.port()).get("/v1/models").json()["data"];
    QCOMPARE(list.size(), std::size_t(3));
    QCOMPARE(list[1]["id"], "second");
    const HttpReply unknown = tests::post_chat(fixture.port(), chat_body("Hi", {{"model", "fake"}}));
    QCOMPARE(unknown.status, 404);
    QVERIFY(unknown.json()["error"]["message"].get<std::string>().find("`first`, `second`, `org/third`") !=
            std::string::npos);
  }

  void any_name_answers_if_allowed() {
    ServerFixture::Options options;
    options.server.any_model_name = true;
    const ServerFixture fixture(options);
    for (const char* path : {"/v1/chat/completions", "/v1/messages", "/api/chat", "/tokenize"}) {
      QCOMPARE(HttpClient(fixture.port()).post(path, chat_body("Hi", {{"model", "gpt-4o"}})).status, 200);
    }
    QCOMPARE(HttpClient(fixture.port()).get("/v1/models/gpt-4o").status, 200);
    QCOMPARE(HttpClient(fixture.port()).get("/v1/models").json()["data"].size(), std::size_t(1));
  }

  void answers_have_the_id_of_their_request() {
    const ServerFixture fixture;
    const auto id_for = [&](const char* path, const std::string& given) {
      return HttpClient(fixture.port())
          .get(path, given.empty() ? "" : "X-Request-Id: " + given + "\r\n")
          .field("x-request-id");
    };
    const std::string made = id_for("/v1/models", "");
    QVERIFY(made.starts_with("req_"));
    QVERIFY(id_for("/v1/models", "") != made);
    QCOMPARE(id_for("/v1/models", "mine-1"), std::string("mine-1"));
    QCOMPARE(id_for("/nowhere", "mine-2"), std::string("mine-2"));
    QVERIFY(id_for("/v1/models", std::string(201, 'a')).starts_with("req_"));
    QVERIFY(id_for("/v1/models", "a b").starts_with("req_"));
    QVERIFY(!tests::post_chat(fixture.port(), chat_body("Hi", {{"stream", true}})).field("x-request-id").empty());
  }

  void a_reset_of_the_prefix_cache_changes_the_salt() {
    const ServerFixture fixture;
    const auto salt = [&](const Json& more) {
      tests::post_chat(fixture.port(), chat_body("Hi", more));
      return fixture.engine().submitted().back().cache_salt;
    };
    QCOMPARE(salt(Json::object()), std::string());
    QCOMPARE(salt({{"cache_salt", "s"}}), std::string("s"));
    QCOMPARE(HttpClient(fixture.port()).post("/reset_prefix_cache", "").status, 200);
    const std::string after = salt(Json::object());
    QVERIFY(!after.empty());
    QCOMPARE(salt(Json::object()), after);
    QVERIFY(salt({{"cache_salt", "s"}}) != after);
    HttpClient(fixture.port()).post("/reset_prefix_cache", "");
    QVERIFY(salt(Json::object()) != after);
  }

  void the_tokenizer_is_described() {
    const ServerFixture fixture;
    const Json info = HttpClient(fixture.port()).get("/tokenizer_info").json();
    QCOMPARE(info["model_max_length"], 4096);
    QVERIFY(info["vocab_size"].get<int>() > 256);
    QCOMPARE(info["eos_token"], fixture.engine().tokenizer().piece(info["eos_token_id"].get<std::int32_t>()));
  }
};

LATHE_TEST(ModelNamesTest)

}  // namespace model_names_test
#include "model_names_test.moc"
