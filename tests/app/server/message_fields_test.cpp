// SPDX-License-Identifier: Apache-2.0
// Members of a chat's messages over HTTP: each is read, refused by its path, or warned of.
#include <QtTest>

#include "app/server/known_fields.h"
#include "app/server/request_fields.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace message_fields_test {

using namespace lathe;
using app::FieldFate;
using app::KnownField;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;

namespace {

/// A chat of three messages: question, answer with more members, question with more members.
Json chat_with(const Json& answer, const Json& question = Json::object()) {
  Json messages = {
      {{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", "b"}}, {{"role", "user"}, {"content", "c"}}};
  messages[1].update(answer);
  messages[2].update(question);
  return {{"messages", messages}};
}

}  // namespace

class MessageFieldsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void refused_members_are_named_by_their_path() {
    int n_refused = 0;
    for (const KnownField& field : app::message_fields()) {
      if (field.fate != FieldFate::refused) continue;
      ++n_refused;
      const std::string name(field.name);
      const HttpReply reply = post(chat_with({{name, true}}));
      QCOMPARE(reply.status, 400);
      QCOMPARE(reply.json()["error"]["param"], "messages[1]." + name);
    }
    QVERIFY(n_refused > 0);
    const HttpReply image = post(chat_with(Json::object(), {{"images", {"aGk="}}}));
    QCOMPARE(image.status, 400);
    QCOMPARE(image.json()["error"]["param"], "messages[2].images");
  }

  void members_that_ask_for_nothing_pass_silently() {
    for (const KnownField& field : app::message_fields()) {
      if (field.fate == FieldFate::served) continue;
      const std::string name(field.name);
      for (const Json& value : {Json(nullptr), Json(false), Json(""), Json::array(), Json::object()}) {
        const HttpReply reply = post(chat_with({{name, value}}, {{name, value}}));
        QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
      }
      if (field.fate == FieldFate::refused) continue;
      const HttpReply reply = post(chat_with({{name, "x1"}}));
      QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
    }
  }

  void other_members_are_warned_of() {
    const HttpReply reply = post(chat_with({{"weight", 1}}, {{"reasoning", "x"}, {"tool_call_id", "y"}}));
    QCOMPARE(reply.status, 200);
    QCOMPARE(names_of(reply), (QStringList{"messages[1].weight", "messages[2].reasoning", "messages[2].tool_call_id"}));
    const HttpReply tokens = HttpClient(fixture_->port()).post("/tokenize", chat_with({{"weight", 1}}));
    QCOMPARE(tokens.status, 200);
    QCOMPARE(names_of(tokens), QStringList{"messages[1].weight"});
  }

  void members_of_members_are_warned_of_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("fields");
    QTest::addColumn<QByteArray>("named");
    const auto row = [](const char* path, const char* fields, const char* named) {
      QTest::newRow(named) << QByteArray(path) << QByteArray(fields) << QByteArray(named);
    };
    const char *chat = "/v1/chat/completions", *blocks = "/v1/messages", *items = "/v1/responses";
    row(chat, R"("messages":[{"role":"user","content":[{"type":"text","text":"a","zz":1}]}])", "messages[0].content[0].zz");
    row(chat,
        R"("messages":[{"role":"assistant","tool_calls":[{"id":"1","index":0,"extra_content":{"a":1},)"
        R"("function":{"name":"f","arguments":"{}"}}]}])",
        "messages[0].tool_calls[0].extra_content");
    row(chat, R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}","zz":1}}]}])",
        "messages[0].tool_calls[0].function.zz");
    row(chat, R"("messages":[{"role":"user","content":"a"}],"tools":[{"zz":1,"function":{"name":"f"}}])", "tools[0].zz");
    row(chat, R"("messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"f","zz":1}}])",
        "tools[0].function.zz");
    row(chat, R"("messages":[{"role":"user","content":"a"}],"response_format":{"type":"text","zz":1})",
        "response_format.zz");
    row(chat,
        R"("messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema",)"
        R"("json_schema":{"name":"n","strict":true,"schema":{},"zz":1}})",
        "response_format.json_schema.zz");
    row(blocks,
        R"("messages":[{"role":"user","content":"a"}],"max_tokens":9,"tools":[{"name":"f","input_schema":{},"zz":1}])",
        "tools[0].zz");
    row(blocks,
        R"("messages":[{"role":"user","content":"a"}],"max_tokens":9,"output_format":{"type":"json_schema","schema":{},"zz":1})",
        "output_format.zz");
    row(items, R"("input":"a","text":{"format":{"type":"json_schema","name":"n","schema":{},"zz":1}})", "text.format.zz");
    row(items, R"("input":"a","tools":[{"type":"function","name":"f","zz":1}])", "tools[0].zz");
  }
  void members_of_members_are_warned_of() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, fields);
    QFETCH(QByteArray, named);
    tests::FakeModel model;
    model.answer_formats = {"hermes", ""};
    fixture_->load(model);
    const HttpReply reply = HttpClient(fixture_->port()).post(path.toStdString(), "{" + fields.toStdString() + "}");
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.field("Lathe-Ignored-Fields"), named.toStdString());
  }

  void many_warnings_are_bounded() {
    Json messages = Json::array();
    for (int i = 0; i < 99; ++i)
      messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", "a"}, {"x", 1}});
    const HttpReply reply = post({{"messages", messages}});
    QCOMPARE(reply.status, 200);
    QCOMPARE(reply.json()["warnings"].size(), app::RequestFields::kMaxWarnings);
  }

  /// vLLM's newer name decides where several are there.
  void reasoning_is_read_under_each_name() {
    for (const char* name : {"reasoning", "reasoning_content", "thinking"}) {
      const HttpReply reply = post(chat_with({{name, "why"}}));
      QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
      QCOMPARE(post(chat_with({{name, 5}})).json()["error"]["param"], std::string("messages[1].") + name);
    }
  }

 private:
  HttpReply post(Json body) {
    body["max_tokens"] = 1;
    return HttpClient(fixture_->port()).post("/v1/chat/completions", body);
  }
  static QStringList names_of(const HttpReply& reply) {
    QStringList names;
    for (const Json& warning : reply.json().value("warnings", Json::array()))
      names << QString::fromStdString(warning["param"].get<std::string>());
    names.sort();
    return names;
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(MessageFieldsTest)

}  // namespace message_fields_test
#include "message_fields_test.moc"
