// SPDX-License-Identifier: Apache-2.0
// Tools of a model whose chat template knows none, in every protocol, whole and streamed.
#include <QtTest>

#include "tests/support/grammar_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace generic_tools_server_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::kArguments;
using tests::kCall;
using tests::with_tools;

namespace {

/// A template without tools that refuses a system message and roles that do not alternate.
constexpr const char* kNoTools =
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles') }}{% endif %}"
    "<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

const std::string kFlatWeather = R"("name":"weather","description":"Of a city.",)";
const std::string kSchema =
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]})";

}  // namespace

class GenericToolsServerTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    tests::ServerFixture::Options options;
    options.model.chat_template = kNoTools;
    fixture_ = std::make_unique<tests::ServerFixture>(options);
    fixture_->engine().answer_with(kCall);
  }
  void cleanup() { fixture_.reset(); }

  void every_protocol_gets_calls_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("call");
    const auto row = [](const char* name, const char* path, const std::string& body, const char* call) {
      for (const char* stream : {"false", "true"}) {
        QTest::addRow("%s, stream %s", name, stream)
            << QByteArray(path) << QByteArray::fromStdString(body + R"(,"stream":)" + stream + "}") << QByteArray(call);
      }
    };
    const std::string messages = R"("messages":[{"role":"user","content":"Rain?"}])";
    row("chat", "/v1/chat/completions", "{" + messages + R"(,"tools":)" + tests::kTools, R"("finish_reason":"tool_calls")");
    row("responses", "/v1/responses",
        R"({"input":"Rain?","tools":[{"type":"function",)" + kFlatWeather + R"("parameters":)" + kSchema + "}]",
        R"("type":"function_call")");
    row("messages", "/v1/messages",
        R"({"max_tokens":200,)" + messages + R"(,"tools":[{)" + kFlatWeather + R"("input_schema":)" + kSchema + "}]",
        R"("stop_reason":"tool_use")");
    row("Ollama", "/api/chat", "{" + messages + R"(,"tools":)" + tests::kTools, R"("tool_calls":[{)");
  }

  void every_protocol_gets_calls() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, call);
    const HttpReply reply = HttpClient(fixture_->port()).post(path.toStdString(), body.toStdString());
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.field("x-lathe-tools"), std::string("generic"));
    QVERIFY2(reply.body.find(call.toStdString()) != std::string::npos, reply.body.c_str());
    QVERIFY(reply.body.find("<tool_call>") == std::string::npos);
    QVERIFY(QString::fromStdString(prompt()).startsWith("<|user|>You can use tools."));
    QVERIFY(QString::fromStdString(prompt()).endsWith("\n\nRain?<|end|><|assistant|>"));
  }

  void the_answer_is_text_or_calls() {
    const Json message = post(with_tools()).json()["choices"][0]["message"];
    QCOMPARE(message["tool_calls"][0]["function"]["arguments"], kArguments);
    const auto has = [this](const std::string& text) { return tests::has(constraint(), text); };
    QVERIFY(has("It rains."));
    QVERIFY(has(R"({"rain": [1, true]})"));
    QVERIFY(has(std::string("I look.\n") + kCall + "\n" + kCall));
    QVERIFY(has(R"(<tool_call>{"name": "weather", "arguments": {"town": 5}}</tool_call>)"));
    QVERIFY(!has(R"(<tool_call>{"name": "other", "arguments": {}}</tool_call>)"));
    QVERIFY(!has(R"(<tool_call>{"name": "weather"}</tool_call>)"));
    QCOMPARE(post(with_tools({{"tool_choice", "required"}})).status, 200);
    QVERIFY(has(kCall));
    QVERIFY(!has("It rains."));
    QVERIFY(!has(R"(<tool_call>{"name": "weather", "arguments": {"town": 5}}</tool_call>)"));
    Json strict = with_tools();
    strict["tools"][0]["function"]["strict"] = true;
    QCOMPARE(post(strict).status, 200);
    QVERIFY(has("It rains."));
    QVERIFY(!has(R"(<tool_call>{"name": "weather", "arguments": {"town": 5}}</tool_call>)"));
  }

  void a_demanded_call_is_streamed() {
    const auto chunks = tests::stream_chat(fixture_->port(), with_tools({{"tool_choice", "required"}}));
    const Json message = tests::joined_message(chunks);
    QCOMPARE(message["finish_reason"], "tool_calls");
    QCOMPARE(message["tool_calls"][0]["function"]["name"], "weather");
    QCOMPARE(message["tool_calls"][0]["function"]["arguments"], kArguments);
  }

  void calls_and_results_of_earlier_turns_reach_the_prompt() {
    const Json body = Json::parse(R"({"messages":[{"role":"user","content":"Rain?"},{"role":"assistant","content":null,)"
                                  R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"weather",)"
                                  R"("arguments":"{\"city\":\"Oslo\"}"}}]},{"role":"tool","tool_call_id":"c1",)"
                                  R"("content":"dry"}]})");
    const HttpReply reply = post(body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(QString::fromStdString(prompt()),
             QString("<|user|>Rain?<|end|><|assistant|><tool_call>\n{\"name\": \"weather\", \"arguments\": "
                     "{\"city\":\"Oslo\"}}\n</tool_call><|end|><|user|><tool_response name=\"weather\">\ndry\n"
                     "</tool_response><|end|><|assistant|>"));
    QVERIFY(constraint().empty());
    QCOMPARE(reply.field("x-lathe-tools"), std::string());
  }

  void without_tools_nothing_changes() {
    for (const Json& body : {tests::chat_body("Rain?"), with_tools({{"tool_choice", "none"}})}) {
      const HttpReply reply = post(body);
      QCOMPARE(reply.status, 200);
      QCOMPARE(reply.json()["choices"][0]["message"]["content"], kCall);
      QCOMPARE(reply.field("x-lathe-tools"), std::string());
      QCOMPARE(prompt(), std::string("<|user|>Rain?<|end|><|assistant|>"));
      QVERIFY(constraint().empty());
    }
  }

  void the_log_has_one_line() {
    for (int i = 0; i < 3; ++i) QCOMPARE(post(with_tools()).status, 200);
    std::uint64_t cursor = 0;
    int n = 0;
    for (const app::LogLine& line : fixture_->log().lines_since(cursor))
      n += line.text.find("x-lathe-tools: generic") != std::string::npos ? 1 : 0;
    QCOMPARE(n, 1);
  }

  void the_prompt_is_counted_with_its_tools() {
    const HttpReply reply = HttpClient(fixture_->port()).post("/tokenize", with_tools());
    QCOMPARE(post(with_tools()).status, 200);
    QCOMPARE(reply.json()["tokens"], Json(fixture_->engine().submitted().back().prompt_token_ids));
  }

  void clients_of_ollama_learn_that_it_takes_tools() {
    const Json shown = HttpClient(fixture_->port()).post("/api/show", Json{{"model", "fake"}}).json();
    QCOMPARE(shown["capabilities"], Json::parse(R"(["completion","tools"])"));
  }

 private:
  HttpReply post(const Json& body) { return tests::post_chat(fixture_->port(), body); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }
  std::string constraint() { return fixture_->engine().submitted().back().sampling.structured_outputs; }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(GenericToolsServerTest)

}  // namespace generic_tools_server_test
#include "generic_tools_server_test.moc"
