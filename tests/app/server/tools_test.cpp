// SPDX-License-Identifier: Apache-2.0
// Tools of chats over HTTP: definitions, calls and results into the prompt; calls out of the answer, whole and streamed.
#include <QtTest>
#include <set>

#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace tools_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpClient;
using tests::HttpReply;
using tests::joined_message;
using tests::kArguments;
using tests::kCall;
using tests::kTools;
using tests::with_tools;

class ToolsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(tests::tool_options()); }
  void cleanup() { fixture_.reset(); }

  void definitions_reach_the_prompt_in_their_order();
  void T6_control_tokens_in_tools_and_calls_stay_text();
  void calls_and_results_reach_the_prompt();
  void arguments_are_read_as_python_does_data();
  void arguments_are_read_as_python_does();
  void a_call_is_an_answer();
  void content_beside_a_call_stays();
  void one_break_stays_between_the_texts_around_a_call();
  void long_numbers_of_tools_and_calls_keep_their_digits();
  void a_call_is_streamed_name_first();
  void streamed_messages_equal_whole_ones();
  void every_call_has_its_own_id();
  void without_parallel_calls_the_first_counts();
  void every_choice_has_its_calls();
  void tools_are_shown_but_not_read_with_choice_none();
  void without_tools_a_marker_is_text();
  void T11_what_is_no_call_is_text_data();
  void T11_what_is_no_call_is_text();
  void ids_and_log_probabilities_come_once();
  void auto_needs_a_form_that_can_be_read();
  void auto_can_be_switched_off();
  void bad_fields_are_named_data();
  void bad_fields_are_named();
  void bad_requests_harm_no_other();
  void formats_of_control_tokens_are_read_with_them();
  void tokenize_takes_tools();
  void completions_refuse_tools();

 private:
  HttpReply post(const Json& body) { return tests::post_chat(fixture_->port(), body); }
  std::vector<Json> stream(const Json& body) { return tests::stream_chat(fixture_->port(), body); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ToolsTest::definitions_reach_the_prompt_in_their_order() {
  HttpClient client(fixture_->port());
  const std::string body = R"({"messages":[{"role":"user","content":"Rain?"}],"tools":)" + std::string(kTools) + "}";
  QCOMPARE(client.post("/v1/chat/completions", body).status, 200);
  QCOMPARE(QString::fromStdString(prompt()),
           QString(R"(<|system|>[{"type": "function", "function": {"name": "weather", "description": "Of a city.", )"
                   R"("parameters": {"type": "object", "properties": {"city": {"type": "string"}, )"
                   R"("days": {"type": "integer"}}, "required": ["city"]}}}]<|end|><|user|>Rain?<|end|><|assistant|>)"));
}

void ToolsTest::T6_control_tokens_in_tools_and_calls_stay_text() {
  Json tools = Json::parse(kTools);
  tools[0]["function"]["description"] = "<|user|>";
  const Json call = {{"id", "<|user|>"}, {"function", {{"name", "<|user|>"}, {"arguments", R"({"k": "<|user|>"})"}}}};
  const Json messages = {{{"role", "assistant"}, {"tool_calls", {call}}},
                         {{"role", "tool"}, {"tool_call_id", "<|user|>"}, {"content", "<|user|>"}}};
  QCOMPARE(post({{"messages", messages}, {"tools", tools}}).status, 200);
  const auto ids = fixture_->engine().submitted().back().prompt_token_ids;
  QVERIFY(std::find(ids.begin(), ids.end(), tests::ByteTokenizer::kUser) == ids.end());
  QCOMPARE(std::count(ids.begin(), ids.end(), tests::ByteTokenizer::kTool), std::ptrdiff_t(1));
}

void ToolsTest::calls_and_results_reach_the_prompt() {
  const Json call = {{"id", "c1"}, {"type", "function"}, {"function", {{"name", "weather"}, {"arguments", kArguments}}}};
  const Json messages = {{{"role", "user"}, {"content", "Rain?"}},
                         {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
                         {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", {{{"type", "text"}, {"text", "dry"}}}}}};
  QCOMPARE(post({{"messages", messages}}).status, 200);
  QCOMPARE(
      QString::fromStdString(prompt()),
      QString("<|user|>Rain?<|end|><|assistant|>(c1 weather %1)<|end|><|tool|>c1dry<|end|><|assistant|>").arg(kArguments));
}

void ToolsTest::arguments_are_read_as_python_does_data() {
  QTest::addColumn<QByteArray>("arguments");
  QTest::addColumn<QByteArray>("shown");
  QTest::addColumn<bool>("warns");
  const auto row = [](const char* arguments, const char* shown, bool warns = false) {
    QTest::newRow(arguments) << QByteArray(arguments) << QByteArray(shown) << warns;
  };
  row(R"({"a":NaN,"b":-Infinity})", R"({"a": NaN, "b": -Infinity})");
  row(R"({"a":1e400})", R"({"a": Infinity})");
  row(R"({"a":1,"b":2,"a":{"c":3}})", R"({"a": {"c": 3}, "b": 2})");
  row(R"({"__float__":"NaN"})", R"({"__float__": "NaN"})");
  row("", "{}");
  row("{\"a\":\"x\ny\"}", "{}", true);
  row(R"({"a":"\ud800"})", "{}", true);
  row(R"({"a":)", "{}", true);
}

void ToolsTest::arguments_are_read_as_python_does() {
  QFETCH(QByteArray, arguments);
  QFETCH(QByteArray, shown);
  QFETCH(bool, warns);
  const Json call = {{"id", "c1"}, {"function", {{"name", "f"}, {"arguments", arguments.toStdString()}}}};
  const Json messages = {{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"tool_calls", {call}}}};
  const HttpReply reply = post({{"messages", messages}});
  QVERIFY2(reply.status == 200, reply.body.c_str());
  QCOMPARE(reply.field("Lathe-Ignored-Fields"), std::string(warns ? "messages[1].tool_calls[0].function.arguments" : ""));
  QVERIFY2(prompt().find("(c1 f " + shown.toStdString() + ")") != std::string::npos, prompt().c_str());
}

void ToolsTest::a_call_is_an_answer() {
  fixture_->engine().answer_with(kCall);
  const Json choice = post(with_tools()).json()["choices"][0];
  QCOMPARE(choice["finish_reason"], "tool_calls");
  QVERIFY(choice["stop_reason"].is_null());
  const Json& message = choice["message"];
  QCOMPARE(message["role"], "assistant");
  QVERIFY(message["content"].is_null());
  QVERIFY(message["reasoning"].is_null());
  QCOMPARE(message["tool_calls"].size(), std::size_t(1));
  const Json& call = message["tool_calls"][0];
  QVERIFY(call["id"].get<std::string>().starts_with("chatcmpl-tool-"));
  QCOMPARE(call["type"], "function");
  QCOMPARE(call["function"], Json({{"name", "weather"}, {"arguments", kArguments}}));
}

void ToolsTest::content_beside_a_call_stays() {
  fixture_->engine().answer_with("I look. " + std::string(kCall));
  const Json message = post(with_tools()).json()["choices"][0]["message"];
  QCOMPARE(message["content"], "I look.");
  QCOMPARE(message["tool_calls"].size(), std::size_t(1));
}

void ToolsTest::one_break_stays_between_the_texts_around_a_call() {
  fixture_->engine().answer_with("Let me check.\n\n" + std::string(kCall) + "\n\nDone well.");
  const std::string expected = "Let me check.\n\nDone well.";
  const Json answer = post(with_tools({{"n", 3}})).json();
  for (const Json& choice : answer["choices"]) {
    QCOMPARE(choice["message"]["content"], expected);
    QCOMPARE(choice["message"]["tool_calls"].size(), std::size_t(1));
  }
  QCOMPARE(joined_message(stream(with_tools()))["content"], expected);
}

void ToolsTest::long_numbers_of_tools_and_calls_keep_their_digits() {
  Json body = with_tools();
  const std::string call = R"({"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"weather",)"
                           R"("arguments":"{\"n\": 12345678901234567890}"}}]})";
  body["messages"].push_back(Json::parse(call));
  body["messages"].push_back({{"role", "user"}, {"content", "And now?"}});
  body["tools"][0]["function"]["parameters"]["properties"]["n"] = {{"maximum", 18446744073709551615u}};
  fixture_->engine().answer_with("Sun.");
  QCOMPARE(post(body).status, 200);
  QVERIFY2(prompt().find("12345678901234567890") != std::string::npos, prompt().c_str());
  QVERIFY2(prompt().find("18446744073709551615") != std::string::npos, prompt().c_str());
}

void ToolsTest::a_call_is_streamed_name_first() {
  fixture_->engine().answer_with(kCall);
  const auto chunks = stream(with_tools());
  QVERIFY(chunks.size() >= 3);
  QCOMPARE(chunks.front()["choices"][0]["delta"]["role"], "assistant");
  std::vector<Json> parts;
  for (const Json& chunk : chunks) {
    for (const Json& part : chunk["choices"][0]["delta"].value("tool_calls", Json::array())) parts.push_back(part);
  }
  QVERIFY(parts.size() >= 2);
  QCOMPARE(parts[0]["index"], 0);
  QVERIFY(parts[0]["id"].get<std::string>().starts_with("chatcmpl-tool-"));
  QCOMPARE(parts[0]["type"], "function");
  QCOMPARE(parts[0]["function"], Json({{"name", "weather"}, {"arguments", ""}}));
  QCOMPARE(parts[1], Json({{"index", 0}, {"function", {{"arguments", kArguments}}}}));
  QCOMPARE(chunks.back()["choices"][0]["finish_reason"], "tool_calls");
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) QVERIFY(chunks[i]["choices"][0]["finish_reason"].is_null());
}

void ToolsTest::streamed_messages_equal_whole_ones() {
  for (const std::string& answer :
       {std::string("öffne: ") + kCall + "\n" + kCall, std::string("no call"), std::string("<tool_call>no</tool_call> x"),
        std::string(kCall) + "behind", std::string()}) {
    fixture_->engine().answer_with(answer);
    Json whole = post(with_tools()).json()["choices"][0]["message"];
    Json streamed = joined_message(stream(with_tools()));
    QCOMPARE(streamed["content"], whole["content"].is_null() ? Json("") : whole["content"]);
    QCOMPARE(streamed["tool_calls"].size(), whole["tool_calls"].size());
    for (std::size_t i = 0; i < whole["tool_calls"].size(); ++i)
      QCOMPARE(streamed["tool_calls"][i]["function"], whole["tool_calls"][i]["function"]);
  }
}

void ToolsTest::every_call_has_its_own_id() {
  fixture_->engine().answer_with(std::string(kCall) + kCall + kCall);
  std::set<std::string> ids;
  for (const Json& message : {post(with_tools()).json()["choices"][0]["message"], joined_message(stream(with_tools()))}) {
    QCOMPARE(message["tool_calls"].size(), std::size_t(3));
    for (const Json& call : message["tool_calls"]) ids.insert(call["id"].get<std::string>());
  }
  QCOMPARE(ids.size(), std::size_t(6));
}

void ToolsTest::without_parallel_calls_the_first_counts() {
  fixture_->engine().answer_with(std::string(kCall) + R"(<tool_call>{"name": "second", "arguments": {}}</tool_call>)");
  const Json one = with_tools({{"parallel_tool_calls", false}});
  for (const Json& message : {post(one).json()["choices"][0]["message"], joined_message(stream(one))}) {
    QCOMPARE(message["tool_calls"].size(), std::size_t(1));
    QCOMPARE(message["tool_calls"][0]["function"]["name"], "weather");
  }
  QCOMPARE(post(with_tools({{"parallel_tool_calls", true}})).json()["choices"][0]["message"]["tool_calls"].size(),
           std::size_t(2));
}

void ToolsTest::every_choice_has_its_calls() {
  fixture_->engine().answer_with([](const engine::GenerateRequest& request) {
    return *request.sampling.seed == 1 ? std::string("no call") : std::string(kCall);
  });
  const Json choices = post(with_tools({{"n", 3}, {"seed", 0}})).json()["choices"];
  for (const std::size_t i : {0u, 2u}) {
    QCOMPARE(choices[i]["finish_reason"], "tool_calls");
    QCOMPARE(choices[i]["message"]["tool_calls"].size(), std::size_t(1));
  }
  QCOMPARE(choices[1]["finish_reason"], "stop");
  QCOMPARE(choices[1]["message"]["content"], "no call");
}

void ToolsTest::tools_are_shown_but_not_read_with_choice_none() {
  fixture_->engine().answer_with(kCall);
  const Json choice = post(with_tools({{"tool_choice", "none"}})).json()["choices"][0];
  QVERIFY(prompt().starts_with("<|system|>["));
  QCOMPARE(choice["message"]["content"], kCall);
  QVERIFY(!choice["message"].contains("tool_calls"));
  QCOMPARE(choice["finish_reason"], "stop");
}

void ToolsTest::without_tools_a_marker_is_text() {
  fixture_->engine().answer_with(kCall);
  QCOMPARE(post(chat_body("Hi")).json()["choices"][0]["message"]["content"], kCall);
  QCOMPARE(post(chat_body("Hi", {{"tool_choice", "none"}})).status, 200);
}

void ToolsTest::T11_what_is_no_call_is_text_data() {
  QTest::addColumn<QByteArray>("answer");
  for (const char* answer : {"<tool_call></tool_call>", "<tool_call>{\"name\": 5}</tool_call>", "<tool_call> is a tag",
                             "<tool_call><tool_call>{}</tool_call>"})
    QTest::newRow(answer) << QByteArray(answer);
}

void ToolsTest::T11_what_is_no_call_is_text() {
  QFETCH(QByteArray, answer);
  fixture_->engine().answer_with(answer.toStdString());
  for (const Json& message : {post(with_tools()).json()["choices"][0]["message"], joined_message(stream(with_tools()))}) {
    QCOMPARE(message["content"], answer.toStdString());
    QVERIFY(message.value("tool_calls", Json::array()).empty());
  }
  const Json cut = post(with_tools({{"max_tokens", 5}})).json()["choices"][0];
  QCOMPARE(cut["finish_reason"], "length");
  QVERIFY(!cut["message"].contains("tool_calls"));
}

void ToolsTest::ids_and_log_probabilities_come_once() {
  fixture_->engine().answer_with("ö " + std::string(kCall));
  const Json asks = with_tools({{"return_token_ids", true}, {"logprobs", true}});
  const Json whole = post(asks).json()["choices"][0];
  std::vector<Json> ids, logprobs;
  for (const Json& chunk : stream(asks)) {
    const Json& choice = chunk["choices"][0];
    for (const Json& id : choice.value("token_ids", Json::array())) ids.push_back(id);
    if (choice["logprobs"].is_null()) continue;
    for (const Json& logprob : choice["logprobs"]["content"]) logprobs.push_back(logprob);
  }
  QCOMPARE(Json(ids), whole["token_ids"]);
  QCOMPARE(Json(logprobs), whole["logprobs"]["content"]);
}

void ToolsTest::auto_needs_a_form_that_can_be_read() {
  tests::FakeModel model;
  model.chat_template = tests::kToolTemplate;
  fixture_->load(model);
  engine::EngineOptions options;
  options.tool_call_parser = "none";
  QVERIFY(fixture_->models().load(options).has_value());
  QVERIFY(fixture_->models().wait().has_value());
  for (const Json& more : {Json::object(), Json({{"tool_choice", "auto"}})}) {
    const HttpReply reply = post(with_tools(more));
    QCOMPARE(reply.status, 400);
    const std::string message = reply.json()["error"]["message"];
    QVERIFY(message.find("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set") !=
            std::string::npos);
    QVERIFY(message.find("--tool-call-parser auto") != std::string::npos);
    QCOMPARE(reply.json()["error"]["param"], more.empty() ? "tools" : "tool_choice");
  }
  QCOMPARE(post(with_tools({{"tool_choice", "none"}})).status, 200);
}

void ToolsTest::auto_can_be_switched_off() {
  engine::EngineOptions options;
  options.enable_auto_tool_choice = false;
  QVERIFY(fixture_->models().load(options).has_value());
  QVERIFY(fixture_->models().wait().has_value());
  const HttpReply reply = post(with_tools());
  QCOMPARE(reply.status, 400);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("switched off") != std::string::npos);
}

void ToolsTest::bad_fields_are_named_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("param");
  const auto row = [](const char* fields, const char* param) {
    QTest::addRow("%s: %.60s", param, fields) << QByteArray(fields) << QByteArray(param);
  };
  row(R"("tools":{})", "tools");
  row(R"("tools":"weather")", "tools");
  row(R"("tools":[])", "tools");
  row(R"("tools":[5])", "tools[0]");
  row(R"("tools":[{"type":"custom","function":{"name":"f"}}])", "tools[0].type");
  row(R"("tools":[{"type":5,"function":{"name":"f"}}])", "tools[0].type");
  row(R"("tools":[{"type":"function"}])", "tools[0].function");
  row(R"("tools":[{"function":[]}])", "tools[0].function");
  row(R"("tools":[{"function":{}}])", "tools[0].function.name");
  row(R"("tools":[{"function":{"name":""}}])", "tools[0].function.name");
  row(R"("tools":[{"function":{"name":"f"}},{"function":{"name":7}}])", "tools[1].function.name");
  row(R"("tools":[{"function":{"name":"f","description":{}}}])", "tools[0].function.description");
  row(R"("tools":[{"function":{"name":"f","parameters":"{}"}}])", "tools[0].function.parameters");
  row(R"("tool_choice":"auto")", "tool_choice");
  row(R"("tool_choice":"required")", "tool_choice");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":"any")", "tool_choice");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":5)", "tool_choice");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"mcp"})", "tool_choice.type");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function"})", "tool_choice.function");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}})",
      "tool_choice.function.name");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[]}})",
      "tool_choice.allowed_tools.tools");
  row(R"("tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[)"
      R"({"function":{"name":"g"}}]}})",
      "tool_choice.allowed_tools.tools[0].function.name");
  row(R"("parallel_tool_calls":"no")", "parallel_tool_calls");
  row(R"("include_reasoning":1)", "include_reasoning");
  row(R"("reasoning_effort":"some")", "reasoning_effort");
  row(R"("functions":[{"name":"f"}])", "functions");
  row(R"("messages":[{"role":"user","content":"a","tool_calls":[{}]}])", "messages[0].tool_calls");
  row(R"("messages":[{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls");
  row(R"("messages":[{"role":"assistant","tool_calls":[5]}])", "messages[0].tool_calls[0]");
  row(R"("messages":[{"role":"assistant","tool_calls":[{"id":1}]}])", "messages[0].tool_calls[0].id");
  row(R"("messages":[{"role":"assistant","tool_calls":[{"type":"custom"}]}])", "messages[0].tool_calls[0].type");
  row(R"("messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}])", "messages[0].tool_calls[0].function");
  row(R"("messages":[{"role":"assistant","tool_calls":[{"function":{}}]}])", "messages[0].tool_calls[0].function.name");
  row(R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}])",
      "messages[0].tool_calls[0].function.arguments");
  row(R"("messages":[{"role":"assistant","reasoning":5}])", "messages[0].reasoning");
  row(R"("messages":[{"role":"assistant","reasoning_content":[]}])", "messages[0].reasoning_content");
  row(R"("messages":[{"role":"tool","content":"a","tool_call_id":5}])", "messages[0].tool_call_id");
  row(R"("messages":[{"role":"tool","tool_call_id":"a"}])", "messages[0].content");
  row(R"("messages":[{"role":"user","content":"a","name":5}])", "messages[0].name");
  row(R"("messages":[{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text");
  row(R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":"x"}]}])", "messages[0].content[0].type");
}

void ToolsTest::bad_fields_are_named() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, param);
  const std::string own = fields.startsWith("\"messages\"") ? "" : R"("messages":[{"role":"user","content":"a"}],)";
  const HttpReply reply = HttpClient(fixture_->port()).post("/v1/chat/completions", "{" + own + fields.toStdString() + "}");
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], param.toStdString());
  QVERIFY(fixture_->engine().submitted().empty());
}

void ToolsTest::bad_requests_harm_no_other() {
  fixture_->engine().answer_with(kCall);
  fixture_->engine().pause();
  HttpClient running(fixture_->port());
  running.send(running.request("POST", "/v1/chat/completions", engine::dump_json(with_tools({{"stream", true}}))));
  QCOMPARE(running.read_head().status, 200);
  Json many = Json::array();
  for (int i = 0; i < 129; ++i) many.push_back({{"function", {{"name", "f"}}}});
  QCOMPARE(post(with_tools({{"tools", many}})).json()["error"]["param"], "tools");
  std::string deep = R"({"messages":[{"role":"user","content":"a"}],"tools":)" + std::string(5000, '[');
  QCOMPARE(HttpClient(fixture_->port()).post("/v1/chat/completions", deep).status, 400);
  QCOMPARE(post(with_tools({{"tools", Json::array({nullptr})}})).json()["error"]["param"], "tools[0]");
  fixture_->engine().resume();
  std::string events;
  while (const auto event = running.read_event()) events += *event;
  QVERIFY(events.find("\"finish_reason\":\"tool_calls\"") != std::string::npos);
  many.erase(0);
  QCOMPARE(post(with_tools({{"tools", many}})).status, 200);
}

void ToolsTest::formats_of_control_tokens_are_read_with_them() {
  tests::FakeModel model;
  model.answer_formats = {"openai", "openai_gptoss"};
  fixture_->load(model);
  fixture_->engine().answer_with(
      "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
      "<|constrain|>json<|message|>{\"city\":\"Bern\"}<|call|>");
  const Json message = post(with_tools()).json()["choices"][0]["message"];
  const auto& markers = fixture_->engine().submitted().back().reading->markers;
  QVERIFY(markers.size() == 1 && markers[0].text == "<|end|>");  // of harmony's the one that is in this vocabulary
  QCOMPARE(message["reasoning"], "I look.");
  QCOMPARE(message["tool_calls"][0]["function"], Json({{"name", "weather"}, {"arguments", "{\"city\":\"Bern\"}"}}));
}

void ToolsTest::tokenize_takes_tools() {
  const auto count = [&](const Json& body) { return HttpClient(fixture_->port()).post("/tokenize", body).json()["count"]; };
  QVERIFY(count(with_tools()).get<int>() > count(chat_body("Rain?")).get<int>() + 150);
  QCOMPARE(HttpClient(fixture_->port()).post("/tokenize", with_tools({{"tools", Json::array()}})).status, 400);
}

void ToolsTest::completions_refuse_tools() {
  const Json body = tests::completion_body("a", {{"tools", Json::parse(kTools)}});
  const HttpReply reply = HttpClient(fixture_->port()).post("/v1/completions", body);
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], "tools");
}

LATHE_TEST(ToolsTest)

}  // namespace tools_test
#include "tools_test.moc"
