// SPDX-License-Identifier: Apache-2.0
// Rows T8 to T10 and T12, and the fields that constrain an answer: one that cannot be enforced ends the request with 400,
// the name of the field and the place; the next request is served.
#include <QtTest>
#include <fstream>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace constraints_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::completion_body;
using tests::HttpClient;
using tests::HttpReply;

namespace {

std::string repeated(std::string_view text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

/// Units: bytes of this process in memory.
std::int64_t resident_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

Json schema_format(const Json& schema) {
  return {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", schema}}}};
}

}  // namespace

class ConstraintsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void a_field_is_a_constraint_data();
  void a_field_is_a_constraint();
  void the_order_of_properties_is_kept();
  void two_constraints_are_refused_by_name();
  void errors_are_at_the_place_in_the_request_data();
  void errors_are_at_the_place_in_the_request();
  void T8_hostile_grammars_data();
  void T8_hostile_grammars();
  void T9_hostile_schemas_data();
  void T9_hostile_schemas();
  void T9_expressions_are_refused();
  void T10_schemas_leave_nothing_behind();
  void T12_constraints_that_allow_no_text_are_refused();

 private:
  HttpReply post_chat(const Json& more) {
    return HttpClient(fixture_->port()).post("/v1/chat/completions", chat_body("Hi", more));
  }
  /// Refused with the name of the field in a short answer, or served; and no harm done.
  void expect(int status, const std::string& field, const Json& value, const std::string& param) {
    const HttpReply reply = post_chat({{field, value}});
    QVERIFY2(reply.status == status, reply.body.c_str());
    if (status == 400) {
      QCOMPARE(reply.json()["error"]["param"], param);
      QVERIFY(reply.body.size() < 4096);
    }
    QCOMPARE(fixture_->leftovers(), std::string());
  }
  std::string asked() { return fixture_->engine().submitted().back().sampling.structured_outputs; }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ConstraintsTest::a_field_is_a_constraint_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("constraint");
  const auto row = [](const char* fields, const char* constraint) {
    QTest::newRow(fields) << QByteArray(fields) << QByteArray(constraint);
  };
  row(R"({"response_format":{"type":"text"}})", "");
  row(R"({"response_format":{"type":"json_object"}})", R"({"json_object":true})");
  row(R"({"response_format":{"type":"json_object","schema":{"type":"integer"}}})", R"({"json":{"type":"integer"}})");
  row(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"null"}}}})",
      R"({"json":{"type":"null"}})");
  row(R"({"response_format":{"type":"json","value":{"type":"null"}}})", R"({"json":{"type":"null"}})");
  row(R"({"response_format":{"type":"json_schema","value":{"name":"n","schema":{"type":"null"}}}})",
      R"({"json":{"type":"null"}})");
  row(R"({"response_format":{"type":"regex","value":"a+"}})", R"({"regex":"a+"})");
  row(R"({"response_format":{"type":"structural_tag","format":{"type":"any_text"}}})",
      R"({"structural_tag":{"type":"structural_tag","format":{"type":"any_text"}}})");
  row(R"({"structured_outputs":{"choice":["a","b"],"whitespace":"none"}})", R"({"choice":["a","b"],"whitespace":"none"})");
  row(R"({"guided_json":{"type":"null"},"guided_whitespace_pattern":" ?"})",
      R"({"json":{"type":"null"},"whitespace_pattern":" ?"})");
  row(R"({"guided_json":"{\"type\": \"null\"}"})", R"({"json":"{\"type\": \"null\"}"})");
  row(R"({"guided_regex":"a"})", R"({"regex":"a"})");
  row(R"({"guided_choice":["x"]})", R"({"choice":["x"]})");
  row(R"({"guided_grammar":"root ::= \"a\""})", R"({"grammar":"root ::= \"a\""})");
  row(R"({"grammar":"root ::= \"a\""})", R"({"grammar":"root ::= \"a\""})");
  row(R"({"json_schema":{}})", R"({"json":{}})");
  row(R"({"regex":"a"})", R"({"regex":"a"})");
  row(R"({"ebnf":"root ::= \"a\""})", R"({"grammar":"root ::= \"a\""})");
}

void ConstraintsTest::a_field_is_a_constraint() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, constraint);
  const Json given = Json::parse(fields.toStdString());
  for (const bool is_chat : {true, false}) {
    const Json body = is_chat ? chat_body("Hi", given) : completion_body("Hi", given);
    const HttpReply reply = HttpClient(fixture_->port()).post(is_chat ? "/v1/chat/completions" : "/v1/completions", body);
    QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
    QCOMPARE(asked().empty() ? Json() : Json::parse(asked()),
             constraint.isEmpty() ? Json() : Json::parse(constraint.toStdString()));
  }
}

void ConstraintsTest::the_order_of_properties_is_kept() {
  const std::string body =
      R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":4,"response_format":{"type":"json_schema",)"
      R"("json_schema":{"schema":{"properties":{"z":{},"a":{},"m":{}}}}}})";
  QCOMPARE(HttpClient(fixture_->port()).post("/v1/chat/completions", body).status, 200);
  QCOMPARE(asked(), std::string(R"({"json":{"properties":{"z":{},"a":{},"m":{}}}})"));
}

void ConstraintsTest::two_constraints_are_refused_by_name() {
  const HttpReply reply = post_chat({{"guided_regex", "a"}, {"response_format", {{"type", "json_object"}}}});
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], "response_format");
  const std::string message = reply.json()["error"]["message"];
  QVERIFY(message.find("guided_regex and response_format") != message.npos);
  QCOMPARE(post_chat({{"guided_regex", "a"}, {"guided_choice", {"a"}}}).json()["error"]["param"], "guided_choice");
  QCOMPARE(post_chat({{"structured_outputs", {{"regex", "a"}}}, {"ebnf", "root ::= \"a\""}}).json()["error"]["param"],
           "structured_outputs");
}

void ConstraintsTest::errors_are_at_the_place_in_the_request_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("param");
  const auto row = [](const char* fields, const char* param) {
    QTest::newRow(fields) << QByteArray(fields) << QByteArray(param);
  };
  row(R"({"response_format":{"type":"xml"}})", "response_format.type");
  row(R"({"response_format":{"type":"json_schema"}})", "response_format.json_schema");
  row(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n"}}})", "response_format.json_schema.schema");
  row(R"({"response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"a":{"not":{}}}}}}})",
      "response_format.json_schema.schema.properties.a.not");
  row(R"({"response_format":{"type":"regex","value":"("}})", "response_format.value");
  row(R"({"response_format":{"type":"structural_tag","format":{"type":"magic"}}})", "response_format.format.type");
  row(R"({"structured_outputs":{"choice":["a",1]}})", "structured_outputs.choice[1]");
  row(R"({"guided_json":{"type":"x"}})", "guided_json.type");
  row(R"({"ebnf":"toor ::= \"a\""})", "ebnf");
}

void ConstraintsTest::errors_are_at_the_place_in_the_request() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, param);
  const HttpReply reply = post_chat(Json::parse(fields.toStdString()));
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"].get<std::string>(), param.toStdString());
}

void ConstraintsTest::T8_hostile_grammars_data() {
  QTest::addColumn<QByteArray>("grammar");
  QTest::addColumn<int>("status");
  const auto row = [](const char* name, int status, const std::string& grammar) {
    QTest::newRow(name) << QByteArray::fromStdString(grammar) << status;
  };
  row("60,000 groups in one another", 400, "root ::= " + repeated("(", 60'000) + "\"a\"" + repeated(")", 60'000));
  row("rules that only refer to one another", 400, "root ::= root \"a\" | other\nother ::= root");
  row("left recursion", 200, "root ::= root \"a\" | \"b\"");
  row("many rules", 400, repeated("r ::= \"a\" r\n", 60'000));
  row("many repeats", 200, "root ::= (\"a\"{0,1000000000}){0,1000000000}");
}

void ConstraintsTest::T8_hostile_grammars() {
  QFETCH(QByteArray, grammar);
  QFETCH(int, status);
  expect(status, "guided_grammar", grammar.toStdString(), "guided_grammar");
  expect(status, "structured_outputs", {{"grammar", grammar.toStdString()}}, "structured_outputs.grammar");
}

void ConstraintsTest::T9_hostile_schemas_data() {
  QTest::addColumn<QByteArray>("schema");
  QTest::addColumn<QByteArray>("place");
  const auto row = [](const char* name, const char* place, const std::string& schema) {
    QTest::newRow(name) << QByteArray::fromStdString(schema) << QByteArray(place);
  };
  row("a reference to itself", "!", R"({"$ref": "#"})");
  row("a reference elsewhere", ".$ref", R"({"$ref": "http://127.0.0.1:1/schema.json"})");
  row("5,000 values", "", R"({"enum": [0)" + repeated(",1", 5000) + "]}");
  row("a length of a thousand million", "", R"({"type": "string", "minLength": 1000000000})");
  row("a pattern that explodes elsewhere", "", R"({"type": "string", "pattern": "(a+)+$"})");
  row("no pattern", ".pattern", R"({"type": "string", "pattern": "(["})");
  row("no type", ".type", R"({"type": "something"})");
  row("names with quotes", "", R"({"properties": {"\"\n\\": {}}})");
}

void ConstraintsTest::T9_hostile_schemas() {
  QFETCH(QByteArray, schema);
  QFETCH(QByteArray, place);
  const Json value = engine::parse_json(schema.toStdString(), "schema").value();
  const int status = place.isEmpty() ? 200 : 400;
  const std::string below = place == "!" ? "" : place.toStdString();
  expect(status, "response_format", schema_format(value), "response_format.json_schema.schema" + below);
  expect(status, "guided_json", value, "guided_json" + below);
}

void ConstraintsTest::T9_expressions_are_refused() {
  expect(200, "guided_regex", "(a+)+$", "");
  for (const char* expression : {"([", "\\1", "(?R)"}) expect(400, "guided_regex", expression, "guided_regex");
}

void ConstraintsTest::T10_schemas_leave_nothing_behind() {
  constexpr int kWarmUp = 50, kSchemas = 500;
  constexpr std::int64_t kMostGrowth = 16 << 20;  // to keep schemas of 64 KiB would take twice that
  HttpClient client(fixture_->port());
  const std::string filling(64 << 10, 'x');
  std::int64_t before = 0;
  for (int i = 0; i < kWarmUp + kSchemas; ++i) {
    if (i == kWarmUp) before = resident_bytes();
    const Json schema = {{"not", true}, {"title", filling + std::to_string(i)}};
    const HttpReply reply =
        client.post("/v1/chat/completions", chat_body("Hi", {{"response_format", schema_format(schema)}}));
    QCOMPARE(reply.status, 400);
  }
  const std::int64_t growth = resident_bytes() - before;
  client.close();
  QCOMPARE(fixture_->leftovers(), std::string());
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: only how much memory grew, sanitizers keep what is freed");
  QVERIFY2(growth < kMostGrowth, std::to_string(growth).c_str());
}

void ConstraintsTest::T12_constraints_that_allow_no_text_are_refused() {
  expect(400, "allowed_token_ids", Json::array({1}), "allowed_token_ids");
  expect(200, "guided_choice", Json::array({"\xF4\x8F\xBF\xBF"}), "");
  expect(400, "guided_regex", "(?!)", "guided_regex");
  expect(200, "guided_choice", Json::array(), "");  // an empty list asks for nothing
}

LATHE_TEST(ConstraintsTest)

}  // namespace constraints_test
#include "constraints_test.moc"
