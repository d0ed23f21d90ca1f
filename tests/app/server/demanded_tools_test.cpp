// SPDX-License-Identifier: Apache-2.0
// Calls that a request demands, and strict tools: constraints of the answer in the markup of its call format.
#include <QtTest>

#include "tests/support/grammar_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace demanded_tools_test {

using namespace lathe;
using engine::Json;
using tests::HttpReply;
using tests::kArguments;
using tests::kCall;
using tests::with_tools;

class DemandedToolsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(tests::tool_options()); }
  void cleanup() { fixture_.reset(); }

  void a_forced_call_is_a_constraint_data();
  void a_forced_call_is_a_constraint();
  void a_forced_call_is_streamed();
  void a_call_cannot_be_forced_without_a_format();
  void auto_off_forbids_no_forced_call();
  void strict_tools_are_a_constraint();
  void a_strict_tool_leaves_the_format_of_the_answer();
  void a_demanded_call_leaves_no_format_of_the_answer();
  void two_constraints_are_refused_with_strict_tools();
  void schemas_that_are_not_supported_are_named();

 private:
  HttpReply post(const Json& body) { return tests::post_chat(fixture_->port(), body); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void DemandedToolsTest::a_forced_call_is_a_constraint_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<bool>("is_forced");
  QTest::addColumn<bool>("has_one");
  const auto row = [](const char* fields, bool is_forced, bool has_one) {
    QTest::newRow(fields) << QByteArray(fields) << is_forced << has_one;
  };
  row(R"({"tool_choice":"required"})", true, false);
  row(R"({"tool_choice":"required","parallel_tool_calls":false})", true, true);
  row(R"({"tool_choice":{"type":"function","function":{"name":"weather"}}})", true, true);
  row(R"({"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[)"
      R"({"type":"function","function":{"name":"weather"}}]}}})",
      true, false);
  row(R"({"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[)"
      R"({"type":"function","function":{"name":"weather"}}]}}})",
      false, false);
}

void DemandedToolsTest::a_forced_call_is_a_constraint() {
  QFETCH(QByteArray, fields);
  QFETCH(bool, is_forced);
  QFETCH(bool, has_one);
  fixture_->engine().answer_with(kCall);
  Json body = with_tools(Json::parse(fields.toStdString()));
  body["tools"].push_back({{"type", "function"}, {"function", {{"name", "other"}}}});
  const HttpReply reply = post(body);
  QVERIFY2(reply.status == 200, reply.body.c_str());
  const Json choice = reply.json()["choices"][0];
  QCOMPARE(choice["finish_reason"], "tool_calls");
  QCOMPARE(choice["message"]["tool_calls"][0]["function"]["arguments"], kArguments);
  const std::string constraint = fixture_->engine().submitted().back().sampling.structured_outputs;
  const auto has = [&](const std::string& text) { return tests::has(constraint, text); };
  QVERIFY(has(kCall));
  QCOMPARE(has(std::string(kCall) + "\n" + kCall), !has_one);
  QCOMPARE(has("It rains."), !is_forced);
  QCOMPARE(has(R"(<tool_call>{"name": "weather", "arguments": {"town": 5}}</tool_call>)"), !is_forced);
  QCOMPARE(has(R"(<tool_call>{"name": "other", "arguments": {}}</tool_call>)"), body["tool_choice"] == "required");
  QVERIFY(!has(R"(<tool_call>{"name": "third", "arguments": {}}</tool_call>)"));
}

void DemandedToolsTest::a_forced_call_is_streamed() {
  fixture_->engine().answer_with(kCall);
  const Json body = with_tools({{"tool_choice", {{"type", "function"}, {"function", {{"name", "weather"}}}}}});
  const Json message = tests::joined_message(tests::stream_chat(fixture_->port(), body));
  QCOMPARE(message["finish_reason"], "tool_calls");
  QCOMPARE(message["content"], "");
  QCOMPARE(message["tool_calls"].size(), std::size_t(1));
  QCOMPARE(message["tool_calls"][0]["function"], Json({{"name", "weather"}, {"arguments", kArguments}}));
  QVERIFY(!tests::has(fixture_->engine().submitted().back().sampling.structured_outputs, "It rains."));
  // Ollama streams lines, whose calls have their arguments as an object.
  const HttpReply reply =
      tests::HttpClient(fixture_->port()).post("/api/chat", with_tools({{"stream", true}, {"tool_choice", "required"}}));
  QVERIFY2(reply.status == 200, reply.body.c_str());
  Json calls = Json::array();
  for (const QByteArray& line : QByteArray::fromStdString(reply.body).split('\n')) {
    if (line.isEmpty()) continue;
    const Json streamed = Json::parse(line.toStdString())["message"];
    QCOMPARE(streamed.value("content", ""), std::string());
    for (const Json& call : streamed.value("tool_calls", Json::array())) calls.push_back(call["function"]);
  }
  QCOMPARE(calls.size(), std::size_t(1));
  QCOMPARE(calls[0]["arguments"], Json::parse(kArguments));
  QVERIFY(!tests::has(fixture_->engine().submitted().back().sampling.structured_outputs, "It rains."));
}

void DemandedToolsTest::a_call_cannot_be_forced_without_a_format() {
  tests::FakeModel model;
  model.chat_template = tests::kToolTemplate;
  fixture_->load(model);
  engine::EngineOptions options;
  options.tool_call_parser = "none";
  QVERIFY(fixture_->models().load(options).has_value());
  QVERIFY(fixture_->models().wait().has_value());
  const HttpReply reply = post(with_tools({{"tool_choice", "required"}}));
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], "tool_choice");
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("--tool-call-parser") != std::string::npos);
}

void DemandedToolsTest::auto_off_forbids_no_forced_call() {
  engine::EngineOptions options = fixture_->models().lease()->model().options;
  options.enable_auto_tool_choice = false;
  QVERIFY(fixture_->models().load(options).has_value());
  QVERIFY(fixture_->models().wait().has_value());
  QCOMPARE(post(with_tools({{"tool_choice", "required"}})).status, 200);
}

void DemandedToolsTest::strict_tools_are_a_constraint() {
  Json body = with_tools();
  QCOMPARE(post(body).status, 200);
  QVERIFY(fixture_->engine().submitted().back().sampling.structured_outputs.empty());
  body["tools"][0]["function"]["strict"] = true;
  QCOMPARE(post(body).status, 200);
  const std::string constraint = fixture_->engine().submitted().back().sampling.structured_outputs;
  QVERIFY(tests::has(constraint, "Well."));
  QVERIFY(tests::has(constraint, std::string("Well. ") + kCall + " and\n" + kCall));
  QVERIFY(!tests::begins(constraint, R"(Well. <tool_call>{"name": "weather", "arguments": {"town")"));
  body["parallel_tool_calls"] = false;
  QCOMPARE(post(body).status, 200);
  QVERIFY(!tests::has(fixture_->engine().submitted().back().sampling.structured_outputs, std::string(kCall) + kCall));
  body["tool_choice"] = "none";
  QCOMPARE(post(body).status, 200);
  QVERIFY(fixture_->engine().submitted().back().sampling.structured_outputs.empty());
}

void DemandedToolsTest::a_strict_tool_leaves_the_format_of_the_answer() {
  Json body = with_tools({{"response_format", {{"type", "json_object"}}}});
  body["tools"][0]["function"]["strict"] = true;
  QCOMPARE(post(body).status, 200);
  const std::string constraint = fixture_->engine().submitted().back().sampling.structured_outputs;
  QVERIFY(tests::has(constraint, R"({"a": 1})") && tests::has(constraint, kCall) && !tests::has(constraint, "Well."));
}

void DemandedToolsTest::a_demanded_call_leaves_no_format_of_the_answer() {
  fixture_->engine().answer_with(kCall);
  const Json warnings =
      post(with_tools({{"response_format", {{"type", "json_object"}}}, {"tool_choice", "required"}})).json()["warnings"];
  QCOMPARE(warnings.size(), std::size_t(1));
  QCOMPARE(warnings[0]["param"], "response_format");
}

void DemandedToolsTest::two_constraints_are_refused_with_strict_tools() {
  for (const Json& given : {Json{{"regex", "a"}, {"choice", {"b"}}}, Json{{"json_object", false}}}) {
    Json body = with_tools({{"structured_outputs", given}});
    QCOMPARE(post(body).status, 400);
    body["tools"][0]["function"]["strict"] = true;
    QCOMPARE(post(body).status, 400);
  }
}

void DemandedToolsTest::schemas_that_are_not_supported_are_named() {
  Json body = with_tools({{"tool_choice", "required"}});
  body["tools"][0]["function"]["parameters"]["properties"]["city"] = {{"type", "array"}, {"contains", Json::object()}};
  const HttpReply reply = post(body);
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], "tools[0].function.parameters.properties.city.contains");
}

LATHE_TEST(DemandedToolsTest)

}  // namespace demanded_tools_test
#include "demanded_tools_test.moc"
