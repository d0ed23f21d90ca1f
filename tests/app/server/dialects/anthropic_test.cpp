// SPDX-License-Identifier: Apache-2.0
// The Messages API over HTTP: prompts from typed blocks, whole and streamed messages, counts and errors.
#include <QtTest>

#include "tests/support/grammar_run.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace anthropic_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::kArguments;
using tests::kCall;

namespace {

/// A named event and its data.
struct NamedEvent {
  std::string name;
  Json data;
};

Json message_body(const Json& content, const Json& more = Json::object()) {
  Json body = {{"model", "fake"}, {"max_tokens", 100}, {"messages", {{{"role", "user"}, {"content", content}}}}};
  body.update(more);
  return body;
}

const Json kWeather =
    Json::parse(R"([{"name":"weather","description":"Of a city.","input_schema":{"type":"object",)"
                R"("properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}])");

std::vector<NamedEvent> stream(std::uint16_t port, Json body) {
  body["stream"] = true;
  HttpClient client(port);
  client.send(client.request("POST", "/v1/messages", engine::dump_json(body)));
  std::vector<NamedEvent> events;
  if (client.read_head().status != 200) return events;
  while (const auto event = client.read_event()) {
    const std::size_t end = event->find('\n');
    if (!event->starts_with("event: ") || event->substr(end + 1, 6) != "data: ") return {};
    events.push_back({event->substr(7, end - 7), Json::parse(event->substr(end + 7))});
  }
  return events;
}

/// The message that the events add up to, as clients put it together; null if their order is wrong.
Json joined(const std::vector<NamedEvent>& events) {
  Json message, block;
  for (const auto& [name, data] : events) {
    if (data["type"] != name) return nullptr;
    if (name == "message_start") {
      message = data["message"];
    } else if (name == "content_block_start") {
      if (!block.is_null() || data["index"] != message["content"].size()) return nullptr;
      block = data["content_block"];
      if (block["type"] == "tool_use") block["input"] = "";
    } else if (name == "content_block_delta") {
      const std::string type = data["delta"]["type"];
      const char* to = type == "text_delta" ? "text" : type == "thinking_delta" ? "thinking" : "input";
      const char* from = type == "input_json_delta" ? "partial_json" : to;
      block[to] = block[to].get<std::string>() + data["delta"][from].get<std::string>();
    } else if (name == "content_block_stop") {
      if (block["type"] == "tool_use") block["input"] = Json::parse(block["input"].get<std::string>());
      message["content"].push_back(std::exchange(block, nullptr));
    } else if (name == "message_delta") {
      message.update(data["delta"]);
      message["usage"] = data["usage"];
    }
  }
  return events.empty() || events.back().name != "message_stop" ? Json() : message;
}

}  // namespace

class AnthropicTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void a_message_answers() {
    fixture_->engine().answer_with("Hello.");
    const HttpReply reply = post(message_body("Hi"));
    QCOMPARE(reply.status, 200);
    const Json json = reply.json();
    QVERIFY(json["id"].get<std::string>().starts_with("msg_"));
    QCOMPARE(json["type"], "message");
    QCOMPARE(json["role"], "assistant");
    QCOMPARE(json["model"], "fake");
    QCOMPARE(json["content"], Json::parse(R"([{"type":"text","text":"Hello."}])"));
    QCOMPARE(json["stop_reason"], "end_turn");
    QVERIFY(json["stop_sequence"].is_null());
    QCOMPARE(json["usage"]["input_tokens"], 5);
    QCOMPARE(json["usage"]["output_tokens"], 7);
    QVERIFY(!reply.field("request-id").empty());
    QCOMPARE(reply.field("request-id"), reply.field("x-request-id"));
  }

  void cached_tokens_are_not_input_tokens() {
    fixture_->engine().set_cached_tokens(3);
    const Json usage = post(message_body("Hi")).json()["usage"];
    QCOMPARE(usage["input_tokens"], 2);
    QCOMPARE(usage["cache_read_input_tokens"], 3);
  }

  void blocks_and_system_reach_the_prompt() {
    const Json text = {{"type", "text"}, {"text", "a"}, {"cache_control", {{"type", "ephemeral"}}}};
    QCOMPARE(post(message_body(Json::array({text, text}), {{"system", Json::array({text})}})).status, 200);
    QCOMPARE(prompt(), std::string("<|system|>a<|end|><|user|>a\na<|end|><|assistant|>"));
  }

  void the_last_message_of_the_assistant_goes_on() {
    const Json messages = {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Well"}}};
    QCOMPARE(post({{"max_tokens", 5}, {"messages", messages}}).status, 200);
    QCOMPARE(prompt(), std::string("<|user|>Hi<|end|><|assistant|>Well"));
  }

  void reasons_of_the_end() {
    fixture_->engine().answer_with("abcdef");
    QCOMPARE(post(message_body("Hi", {{"max_tokens", 2}})).json()["stop_reason"], "max_tokens");
    const Json stopped = post(message_body("Hi", {{"stop_sequences", {"cd"}}})).json();
    QCOMPARE(stopped["stop_reason"], "stop_sequence");
    QCOMPARE(stopped["stop_sequence"], "cd");
    QCOMPARE(stopped["content"][0]["text"], "ab");
  }

  void events_come_in_their_order() {
    fixture_->engine().answer_with("abc");
    const auto events = stream(fixture_->port(), message_body("Hi"));
    QVERIFY(events.size() >= 6);
    QCOMPARE(events[0].name, std::string("message_start"));
    QCOMPARE(events[0].data["message"]["usage"]["input_tokens"], 5);
    QCOMPARE(events[1].name, std::string("content_block_start"));
    QCOMPARE(events[events.size() - 2].name, std::string("message_delta"));
    QCOMPARE(events[events.size() - 2].data["usage"]["output_tokens"], 4);
  }

  /// The first delta is sent while the engine makes no further token.
  void the_first_delta_precedes_the_second_token() {
    fixture_->engine().answer_with("abc");
    fixture_->engine().pause();
    Json body = message_body("Hi", {{"stream", true}});
    HttpClient client(fixture_->port());
    client.send(client.request("POST", "/v1/messages", engine::dump_json(body)));
    QVERIFY(fixture_->engine().wait_for_active(1));
    QCOMPARE(client.read_head().status, 200);
    QVERIFY(client.read_event()->starts_with("event: message_start"));
    fixture_->engine().step(1);
    QVERIFY(client.read_event()->starts_with("event: content_block_start"));
    QVERIFY(client.read_event()->find(R"("text":"a")") != std::string::npos);
    fixture_->engine().resume();
    while (client.read_event()) {
    }
  }

  void streamed_messages_equal_whole_ones_data() {
    QTest::addColumn<QByteArray>("answer");
    QTest::newRow("text") << QByteArray("Das Öl 油.");
    QTest::newRow("nothing") << QByteArray("");
    QTest::newRow("thinking") << QByteArray("<think>\nWarm.</think>\n\nSunny.");
    QTest::newRow("call") << QByteArray(kCall);
    QTest::newRow("all") << QByteArray("<think>a</think>Let me see.") + kCall + kCall;
  }
  void streamed_messages_equal_whole_ones() {
    QFETCH(QByteArray, answer);
    load_tool_model();
    fixture_->engine().answer_with(answer.toStdString());
    const Json body = message_body("Rain?", {{"tools", kWeather}, {"max_tokens", 500}});
    Json whole = post(body).json();
    Json streamed = joined(stream(fixture_->port(), body));
    QVERIFY(!streamed.is_null());
    for (Json* message : {&whole, &streamed}) {
      message->erase("id");
      for (Json& block : (*message)["content"]) block.erase("id");
    }
    QCOMPARE(streamed, whole);
  }

  void a_call_is_a_block() {
    load_tool_model();
    fixture_->engine().answer_with("<think>Rain?</think>Let me see." + std::string(kCall));
    const Json json = post(message_body("Rain?", {{"tools", kWeather}, {"max_tokens", 500}})).json();
    QCOMPARE(json["stop_reason"].get<std::string>(), std::string("tool_use"));
    QCOMPARE(json["content"].size(), std::size_t(3));
    QCOMPARE(json["content"][0]["type"], "thinking");
    QCOMPARE(json["content"][1]["type"], "text");
    const Json& call = json["content"][2];
    QCOMPARE(call["type"], "tool_use");
    QCOMPARE(call["name"], "weather");
    QCOMPARE(call["input"], Json::parse(kArguments));
    QVERIFY(!call["id"].get<std::string>().empty());
  }

  void tools_calls_and_results_reach_the_prompt() {
    load_tool_model();
    const std::string body =
        R"({"max_tokens":9,"tools":)" + kWeather.dump() +
        R"(,"messages":[{"role":"user","content":"Rain?"},{"role":"assistant","content":[{"type":"thinking","thinking":"t",)"
        R"("signature":""},{"type":"text","text":"See."},{"type":"tool_use","id":"c1","name":"weather","input":)" +
        kArguments +
        R"(}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"dry"}]},)"
        R"({"type":"text","text":"And?"}]}]})";
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/messages", body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(QString::fromStdString(prompt()).section("<|end|>", 1),
             QString(R"(<|user|>Rain?<|end|><|assistant|>See.(c1 weather {"city": "Zürich", "days": 2})<|end|>)"
                     "<|tool|>c1dry<|end|><|user|>And?<|end|><|assistant|>"));
    QVERIFY(prompt().find(R"({"type": "function", "function": {"name": "weather", "description": "Of a city.")") !=
            std::string::npos);
  }

  void without_parallel_use_the_first_call_counts() {
    load_tool_model();
    fixture_->engine().answer_with(std::string(kCall) + kCall);
    const Json choice = {{"type", "auto"}, {"disable_parallel_tool_use", true}};
    QCOMPARE(post(message_body("Rain?", {{"tools", kWeather}, {"tool_choice", choice}})).json()["content"].size(),
             std::size_t(1));
  }

  void forced_use_is_a_constraint() {
    load_tool_model();
    fixture_->engine().answer_with(kCall);
    for (const Json& choice : {Json({{"type", "any"}}), Json({{"type", "tool"}, {"name", "weather"}})}) {
      const HttpReply reply = post(message_body("Rain?", {{"tools", kWeather}, {"tool_choice", choice}}));
      QVERIFY2(reply.status == 200, reply.body.c_str());
      QCOMPARE(reply.json()["stop_reason"], "tool_use");
      const std::string constraint = fixture_->engine().submitted().back().sampling.structured_outputs;
      QVERIFY(tests::has(constraint, kCall) && !tests::has(constraint, "It rains."));
      QCOMPARE(tests::has(constraint, std::string(kCall) + kCall), choice["type"] == "any");
    }
    const Json one = {{"type", "any"}, {"disable_parallel_tool_use", true}};
    QCOMPARE(post(message_body("Rain?", {{"tools", kWeather}, {"tool_choice", one}})).status, 200);
    QVERIFY(!tests::has(fixture_->engine().submitted().back().sampling.structured_outputs, std::string(kCall) + kCall));
  }

  void what_is_wrong_with_forced_use_is_named_in_the_words_of_the_protocol() {
    load_tool_model();
    const auto named = [&](const Json& tools, const Json& choice) {
      return post(message_body("Rain?", {{"tools", tools}, {"tool_choice", choice}}))
          .json()["error"]["message"]
          .get<std::string>();
    };
    const std::string unknown = named(kWeather, {{"type", "tool"}, {"name", "other"}});
    QVERIFY2(unknown.find("tool_choice.name") != unknown.npos, unknown.c_str());
    Json tools = kWeather;
    tools[0]["input_schema"]["properties"]["city"] = {{"type", "array"}, {"contains", Json::object()}};
    const std::string schema = named(tools, {{"type", "any"}});
    QVERIFY2(schema.find("tools[0].input_schema.properties.city.contains") != schema.npos, schema.c_str());
  }

  void tokens_are_counted_without_a_limit() {
    const std::string text(10'000, 'a');
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/messages/count_tokens", message_body(text));
    QCOMPARE(reply.status, 200);
    QCOMPARE(reply.json(), Json({{"input_tokens", 10'003}}));
    QVERIFY(fixture_->engine().submitted().empty());
  }

  void bad_fields_are_named_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("named");
    const auto row = [](const char* body, const char* named) {
      QTest::newRow(named) << QByteArray(body) << QByteArray(named);
    };
    row(R"({"messages":[]})", "messages");
    row(R"({"messages":[{"role":"tool","content":"a"}]})", "messages[0].role");
    row(R"({"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]})", "messages[0].content[0].type");
    row(R"({"messages":[{"role":"user","content":[{"type":"document"}]}]})", "messages[0].content[0].type");
    row(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "messages[0].content[0].text");
    row(R"({"messages":[{"role":"user","content":[{"type":"tool_result"}]}]})", "messages[0].content[0].tool_use_id");
    row(R"({"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f"}]}]})", "messages[0].content[0].input");
    row(R"({"messages":[{"role":"user","content":"a"}],"system":[{"type":"image"}]})", "system[0].type");
    row(R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"web_search_20250305","name":"w"}]})",
        "tools[0].type");
    row(R"({"messages":[{"role":"user","content":"a"}],"tools":[{"name":"w"}]})", "tools[0].input_schema");
    row(R"({"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"some"}})", "tool_choice.type");
    row(R"({"messages":[{"role":"user","content":"a"}],"mcp_servers":[{}]})", "mcp_servers");
    row(R"({"messages":[{"role":"user","content":"a"}],"logprobs":1})", "logprobs");
    row(R"({"messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"x"}}})",
        "output_config.format.type");
    row(R"({"messages":[{"role":"user","content":"a"}],"output_format":{"type":"x"}})", "output_format.type");
    row(R"({"messages":[{"role":"user","content":"a"}],"output_format":{"type":"json_schema","schema":{}},)"
        R"("output_config":{"format":{"type":"json_schema","schema":{"type":"null"}}}})",
        "output_config.format");
    row(R"({"messages":[{"role":"user","content":"a"}],"stop_sequences":[1]})", "stop_sequences[0]");
  }
  void the_older_name_of_the_format_is_obeyed() {
    const Json format = {{"type", "json_schema"}, {"schema", {{"type", "integer"}}}};
    for (const Json& fields : {Json{{"output_format", format}}, Json{{"output_config", {{"format", format}}}},
                               Json{{"output_format", format}, {"output_config", {{"format", format}}}}}) {
      const HttpReply reply = post(message_body("Hi", fields));
      QVERIFY2(reply.status == 200 && reply.field("Lathe-Ignored-Fields").empty(), reply.body.c_str());
      QCOMPARE(fixture_->engine().submitted().back().sampling.structured_outputs,
               std::string(R"({"json":{"type":"integer"}})"));
    }
  }
  void bad_fields_are_named() {
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, named);
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/messages", body.toStdString());
    QVERIFY2(reply.status == 400, reply.body.c_str());
    QCOMPARE(reply.json()["type"], "error");
    QCOMPARE(reply.json()["error"]["type"], "invalid_request_error");
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(message.find(named.toStdString()) != std::string::npos, message.c_str());
  }

  void unserved_fields_are_warned_of() {
    const HttpReply reply = post(message_body(
        "Hi", {{"typical_p", 0.5}, {"context_management", {{"edits", {1}}}}, {"metadata", {{"user_id", "u"}}}}));
    QCOMPARE(reply.status, 200);
    QCOMPARE(reply.field("Lathe-Ignored-Fields"), std::string("context_management, typical_p"));
  }

  void errors_have_the_shape_of_the_protocol() {
    const HttpReply unknown = post(message_body("Hi", {{"model", "other"}}));
    QCOMPARE(unknown.status, 404);
    QCOMPARE(unknown.json()["error"]["type"], "not_found_error");
    QCOMPARE(HttpClient(fixture_->port()).get("/v1/messages").json()["type"], "error");  // 405
    fixture_->engine().fail_after(1, engine::Error{engine::ErrorCode::internal, "NaN", {}});
    QCOMPARE(post(message_body("Hi")).json()["error"]["type"], "api_error");
    const auto events = stream(fixture_->port(), message_body("Hi"));
    QCOMPARE(events.back().name, std::string("error"));
    QCOMPARE(events.back().data["error"]["type"], "api_error");
  }

  void the_key_may_come_as_x_api_key() {
    tests::ServerFixture::Options options;
    options.server.api_key = "sk-secret";
    fixture_ = std::make_unique<tests::ServerFixture>(options);
    const std::string body = engine::dump_json(message_body("Hi"));
    QCOMPARE(HttpClient(fixture_->port()).post("/v1/messages", body, "x-api-key: sk-secret\r\n").status, 200);
    const HttpReply refused = HttpClient(fixture_->port()).post("/v1/messages", body, "x-api-key: sk-secre\r\n");
    QCOMPARE(refused.status, 401);
    QCOMPARE(refused.json()["error"]["type"], "authentication_error");
  }

  void a_client_that_goes_ends_its_request() {
    fixture_->engine().pause();
    {
      HttpClient client(fixture_->port());
      client.send(client.request("POST", "/v1/messages", engine::dump_json(message_body("Hi", {{"stream", true}}))));
      QVERIFY(fixture_->engine().wait_for_active(1));
      client.reset();
    }
    QVERIFY(fixture_->engine().wait_for_active(0));
    fixture_->engine().resume();
    QCOMPARE(fixture_->leftovers(), std::string());
  }

 private:
  HttpReply post(const Json& body) { return HttpClient(fixture_->port()).post("/v1/messages", body); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }
  void load_tool_model() { fixture_ = std::make_unique<tests::ServerFixture>(tests::thinking_tool_options()); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(AnthropicTest)

}  // namespace anthropic_test
#include "anthropic_test.moc"
