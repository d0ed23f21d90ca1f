// SPDX-License-Identifier: Apache-2.0
// Calls in the answers of chats over HTTP: cut off, in code, behind stop strings; their ids and the types of their
// arguments.
#include <QRegularExpression>
#include <QtTest>

#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace tool_answers_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpReply;
using tests::joined_message;
using tests::kArguments;
using tests::kCall;
using tests::kTools;
using tests::with_tools;

class ToolAnswersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(tests::tool_options()); }
  void cleanup() { fixture_.reset(); }

  void half_a_call_is_dropped_data();
  void half_a_call_is_dropped();
  void a_call_with_an_open_string_does_not_swallow_the_answer();
  void a_limit_is_said_behind_a_whole_call();
  void a_call_in_a_code_block_is_text();
  void stop_strings_hold_for_the_content_alone();
  void answers_without_a_call_have_no_such_key();
  void ids_have_the_form_of_the_family();
  void types_of_arguments_are_those_of_the_schema();

 private:
  HttpReply post(const Json& body) { return tests::post_chat(fixture_->port(), body); }
  std::vector<Json> stream(const Json& body) { return tests::stream_chat(fixture_->port(), body); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ToolAnswersTest::half_a_call_is_dropped_data() {
  QTest::addColumn<QByteArray>("answer");
  for (const char* answer : {"Well.<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Zü", "Well.\n<tool_call>",
                             "Well. <tool_call>[[[[{\"name\":"})
    QTest::newRow(answer) << QByteArray(answer);
}

/// However the answer ended: nobody can run half a call, and its markup is no text.
void ToolAnswersTest::half_a_call_is_dropped() {
  QFETCH(QByteArray, answer);
  fixture_->engine().answer_with(answer.toStdString());
  for (const Json& more : {Json::object(), Json({{"max_tokens", answer.size()}})}) {
    const Json whole = post(with_tools(more)).json()["choices"][0];
    QCOMPARE(whole["message"]["content"], "Well.");
    QVERIFY(!whole["message"].contains("tool_calls"));
    QCOMPARE(whole["finish_reason"], more.empty() ? "stop" : "length");
    QCOMPARE(joined_message(stream(with_tools(more)))["content"], "Well.");
  }
}

void ToolAnswersTest::a_call_with_an_open_string_does_not_swallow_the_answer() {
  const std::string answer =
      "Well.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"x}}</tool_call>\nHere is the answer.";
  fixture_->engine().answer_with(answer);
  for (const Json& more : {Json::object(), Json({{"max_tokens", answer.size()}})}) {
    const Json whole = post(with_tools(more)).json()["choices"][0];
    QCOMPARE(whole["message"]["content"], more.empty() ? answer : "Well.");
    QVERIFY(!whole["message"].contains("tool_calls"));
    QCOMPARE(whole["finish_reason"], more.empty() ? "stop" : "length");
    QCOMPARE(joined_message(stream(with_tools(more)))["content"], more.empty() ? answer : "Well.");
  }
}

void ToolAnswersTest::a_limit_is_said_behind_a_whole_call() {
  const std::string call = kCall;
  fixture_->engine().answer_with(call + call);
  const Json body = with_tools({{"max_tokens", call.size() + 30}, {"n", 2}});
  const Json answer = post(body).json();
  for (const Json& choice : answer["choices"]) {
    QCOMPARE(choice["finish_reason"], "length");
    QVERIFY(choice["message"]["content"].is_null());
    QCOMPARE(choice["message"]["tool_calls"].size(), std::size_t(1));
  }
  const Json one = with_tools({{"max_tokens", call.size() + 30}});
  const Json streamed = joined_message(stream(one));
  QCOMPARE(streamed["finish_reason"], "length");
  QCOMPARE(streamed["tool_calls"].size(), std::size_t(1));
  QCOMPARE(streamed["content"], "");
}

void ToolAnswersTest::a_call_in_a_code_block_is_text() {
  const std::string answer = "As in\n```xml\n" + std::string(kCall) + "\n```\nor `" + kCall + "`.";
  fixture_->engine().answer_with(answer);
  const Json choice = post(with_tools()).json()["choices"][0];
  QCOMPARE(choice["message"]["content"], answer);
  QCOMPARE(choice["finish_reason"], "stop");
  QCOMPARE(joined_message(stream(with_tools()))["content"], answer);
}

void ToolAnswersTest::stop_strings_hold_for_the_content_alone() {
  fixture_->engine().answer_with("I look.\n" + std::string(kCall) + "Zürich it is.");
  const Json body = with_tools({{"stop", {"Zürich", "tool_call"}}, {"n", 2}});
  const Json answer = post(body).json();
  for (const Json& choice : answer["choices"]) {
    QCOMPARE(choice["message"]["content"], "I look.\n");
    QCOMPARE(choice["message"]["tool_calls"][0]["function"]["arguments"], kArguments);
    QCOMPARE(choice["stop_reason"], "Zürich");
  }
  const Json streamed = joined_message(stream(with_tools({{"stop", {"Zürich", "tool_call"}}})));
  QCOMPARE(streamed["content"], "I look.\n");
  QCOMPARE(streamed["tool_calls"].size(), std::size_t(1));
  const Json kept = post(with_tools({{"stop", "look"}, {"include_stop_str_in_output", true}})).json()["choices"][0];
  QCOMPARE(kept["message"]["content"], "I look");
  QCOMPARE(kept["stop_reason"], "look");
}

void ToolAnswersTest::answers_without_a_call_have_no_such_key() {
  fixture_->engine().answer_with("Dry.");
  for (const Json& body : {chat_body("Rain?"), with_tools(), with_tools({{"tool_choice", "none"}})}) {
    QVERIFY(!post(body).json()["choices"][0]["message"].contains("tool_calls"));
    for (const Json& chunk : stream(body)) QVERIFY(!chunk["choices"][0]["delta"].contains("tool_calls"));
  }
}

void ToolAnswersTest::ids_have_the_form_of_the_family() {
  tests::FakeModel model;
  model.answer_formats.tool_calls = "mistral";
  fixture_->load(model);
  fixture_->engine().answer_with(
      "[TOOL_CALLS][{\"name\":\"weather\",\"arguments\":{}},{\"name\":\"weather\",\"arguments\":{}}]");
  const Json calls = post(with_tools()).json()["choices"][0]["message"]["tool_calls"];
  QVERIFY(calls[0]["id"] != calls[1]["id"]);
  for (const Json& call : calls) {
    const QString id = QString::fromStdString(call["id"].get<std::string>());
    QVERIFY2(QRegularExpression("^[A-Za-z0-9]{9}$").match(id).hasMatch(), qPrintable(id));
  }
}

void ToolAnswersTest::types_of_arguments_are_those_of_the_schema() {
  tests::FakeModel model;
  model.answer_formats.tool_calls = "glm45";
  fixture_->load(model);
  fixture_->engine().answer_with(
      "<tool_call>f<arg_key>code</arg_key><arg_value>007</arg_value><arg_key>none</arg_key><arg_value>null</arg_value></"
      "tool_call>");
  const Json tools = Json::parse(R"([{"function": {"name": "f", "parameters": {"type": "object",
      "properties": {"code": {"$ref": "#/$defs/text"}, "none": {"type": ["string", "null"]}},
      "$defs": {"text": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}}}}])");
  const Json call = post(with_tools({{"tools", tools}})).json()["choices"][0]["message"]["tool_calls"][0];
  QCOMPARE(Json::parse(call["function"]["arguments"].get<std::string>()), Json({{"code", "007"}, {"none", nullptr}}));
}

LATHE_TEST(ToolAnswersTest)

}  // namespace tool_answers_test
#include "tool_answers_test.moc"
