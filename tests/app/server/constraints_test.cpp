// SPDX-License-Identifier: Apache-2.0
// Rows T8 to T10 and T12: grammars, schemas and expressions that are to constrain an answer are not served. So none of them
// is compiled, looked up or kept, whatever it holds: the request ends with 400 at once, and the next one is served.
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

  void T8_grammars_made_to_explode_are_refused_data();
  void T8_grammars_made_to_explode_are_refused();
  void T9_hostile_schemas_are_refused_data();
  void T9_hostile_schemas_are_refused();
  void T9_expressions_are_refused();
  void T10_schemas_leave_nothing_behind();
  void T12_constraints_that_allow_no_token_are_refused();

 private:
  HttpReply post_chat(const Json& more) {
    return HttpClient(fixture_->port()).post("/v1/chat/completions", chat_body("Hi", more));
  }
  /// Refused with the name of the field in a short answer, and no harm done.
  void expect_refusal(const std::string& field, const Json& value, const std::string& param) {
    const HttpReply reply = post_chat({{field, value}});
    QCOMPARE(reply.status, 400);
    QCOMPARE(reply.json()["error"]["param"], param);
    QVERIFY(reply.body.size() < 4096);
    QCOMPARE(fixture_->leftovers(), std::string());
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ConstraintsTest::T8_grammars_made_to_explode_are_refused_data() {
  QTest::addColumn<QByteArray>("grammar");
  const auto row = [](const char* name, const std::string& grammar) {
    QTest::newRow(name) << QByteArray::fromStdString(grammar);
  };
  row("60,000 groups in one another", "root ::= " + repeated("(", 60'000) + "\"a\"" + repeated(")", 60'000));
  row("left recursion", "root ::= root \"a\" | other\nother ::= root");
  row("many rules", repeated("r ::= \"a\" r\n", 100'000));
  row("many repeats", "root ::= (\"a\"{0,1000000000}){0,1000000000}");
}

void ConstraintsTest::T8_grammars_made_to_explode_are_refused() {
  QFETCH(QByteArray, grammar);
  expect_refusal("guided_grammar", grammar.toStdString(), "guided_grammar");
  expect_refusal("structured_outputs", {{"grammar", grammar.toStdString()}}, "structured_outputs");
}

void ConstraintsTest::T9_hostile_schemas_are_refused_data() {
  QTest::addColumn<QByteArray>("schema");
  const auto row = [](const char* name, const std::string& schema) {
    QTest::newRow(name) << QByteArray::fromStdString(schema);
  };
  row("a reference to itself", R"({"$ref": "#"})");
  row("a reference elsewhere", R"({"$ref": "http://127.0.0.1:1/schema.json"})");
  row("5,000 values", R"({"enum": [0)" + repeated(",1", 5000) + "]}");
  row("a length of a thousand million", R"({"type": "string", "minLength": 1000000000})");
  row("a pattern that explodes", R"({"type": "string", "pattern": "(a+)+$"})");
  row("no pattern", R"({"type": "string", "pattern": "(["})");
  row("no type", R"({"type": "something"})");
  row("names with quotes", R"({"properties": {"\"\n\\": {}}})");
}

void ConstraintsTest::T9_hostile_schemas_are_refused() {
  QFETCH(QByteArray, schema);
  const Json value = engine::parse_json(schema.toStdString(), "schema").value();
  expect_refusal("response_format", schema_format(value), "response_format.type");
  expect_refusal("guided_json", value, "guided_json");
}

void ConstraintsTest::T9_expressions_are_refused() {
  for (const char* expression : {"(a+)+$", "([", "\\1", "(?R)"}) {
    expect_refusal("guided_regex", expression, "guided_regex");
  }
  expect_refusal("guided_choice", Json::array({"a", "b"}), "guided_choice");
}

void ConstraintsTest::T10_schemas_leave_nothing_behind() {
  constexpr int kWarmUp = 50, kSchemas = 500;
  constexpr std::int64_t kMostGrowth = 16 << 20;  // to keep schemas of 64 KiB would take twice that
  HttpClient client(fixture_->port());
  const std::string filling(64 << 10, 'x');
  std::int64_t before = 0;
  for (int i = 0; i < kWarmUp + kSchemas; ++i) {
    if (i == kWarmUp) before = resident_bytes();
    const Json schema = {{"type", "object"}, {"title", filling + std::to_string(i)}};
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

void ConstraintsTest::T12_constraints_that_allow_no_token_are_refused() {
  expect_refusal("allowed_token_ids", Json::array({1}), "allowed_token_ids");
  expect_refusal("guided_choice", Json::array({"\xF4\x8F\xBF\xBF"}), "guided_choice");
  expect_refusal("guided_regex", "(?!)", "guided_regex");
}

LATHE_TEST(ConstraintsTest)

}  // namespace constraints_test
#include "constraints_test.moc"
