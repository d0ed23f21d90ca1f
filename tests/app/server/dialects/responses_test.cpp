// SPDX-License-Identifier: Apache-2.0
// The Responses API over HTTP: items in and out, events in their order, stored responses, background and truncation.
#include <QtTest>
#include <algorithm>

#include "tests/support/grammar_run.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace responses_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::kArguments;
using tests::kCall;

namespace {

const Json kWeather = Json::parse(R"([{"type":"function","name":"weather","description":"Of a city.","parameters":{"type":)"
                                  R"("object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}])");

Json response_body(const Json& input, const Json& more = Json::object()) {
  Json body = {{"model", "fake"}, {"input", input}};
  body.update(more);
  return body;
}

/// The events of a reply; none if one of them is out of order or has another name than its type.
std::vector<Json> read_events(HttpClient& client, std::size_t first = 0) {
  std::vector<Json> events;
  if (client.read_head().status != 200) return events;
  while (const auto event = client.read_event()) {
    if (event->starts_with(":")) continue;
    const std::size_t end = event->find('\n');
    const Json data = Json::parse(event->substr(end + 7));
    if (event->substr(7, end - 7) != data["type"] || data["sequence_number"] != first + events.size()) return {};
    events.push_back(data);
  }
  return events;
}

std::vector<Json> stream(std::uint16_t port, Json body) {
  body["stream"] = true;
  HttpClient client(port);
  client.send(client.request("POST", "/v1/responses", engine::dump_json(body)));
  return read_events(client);
}

/// The items that the events add up to, as clients put them together; null if a done event contradicts the deltas.
Json joined_items(const std::vector<Json>& events) {
  Json items = Json::array();
  std::string text;
  for (const Json& event : events) {
    const std::string type = event["type"];
    if (type == "response.output_item.added" || type == "response.content_part.added") text.clear();
    if (type.ends_with(".delta")) text += event["delta"].get<std::string>();
    if (type.ends_with("_text.done") && event["text"] != text) return nullptr;
    if (type.ends_with("arguments.done") && event["arguments"] != text) return nullptr;
    if (type == "response.output_item.done") {
      if (event["output_index"] != items.size()) return nullptr;
      items.push_back(event["item"]);
    }
  }
  return items;
}

}  // namespace

class ResponsesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void a_response_answers() {
    fixture_->engine().answer_with("Hello.");
    const HttpReply reply = post(response_body("Hi", {{"instructions", "Be brief."}, {"metadata", {{"k", "v"}}}}));
    QVERIFY2(reply.status == 200, reply.body.c_str());
    const Json json = reply.json();
    QVERIFY(json["id"].get<std::string>().starts_with("resp_"));
    QCOMPARE(json["object"], "response");
    QCOMPARE(json["status"], "completed");
    QCOMPARE(json["instructions"], "Be brief.");
    QCOMPARE(json["metadata"], Json({{"k", "v"}}));
    QCOMPARE(json["output"].size(), std::size_t(1));
    const Json& item = json["output"][0];
    QCOMPARE(item["type"], "message");
    QCOMPARE(item["status"], "completed");
    QCOMPARE(item["content"][0]["type"], "output_text");
    QCOMPARE(item["content"][0]["text"], "Hello.");
    QCOMPARE(json["usage"]["output_tokens"], 7);
    QCOMPARE(json["usage"]["total_tokens"],
             json["usage"]["input_tokens"].get<int>() + json["usage"]["output_tokens"].get<int>());
    QCOMPARE(prompt(), std::string("<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>"));
  }

  void items_reach_the_prompt() {
    load_tool_model();
    const std::string body =
        R"({"tools":)" + kWeather.dump() +
        R"(,"input":[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"input_text","text":"Rain?"}]},)"
        R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"r"}]},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"See.","annotations":[]}]},)"
        R"({"type":"function_call","call_id":"c1","name":"weather","arguments":"{\"city\": \"Bern\", \"days\": 1}"},)"
        R"({"type":"function_call_output","call_id":"c1","output":"dry"}]})";
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/responses", body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(
        QString::fromStdString(prompt()).section("<|end|>", 1),
        QString(
            R"(<|system|>Be brief.<|end|><|user|>Rain?<|end|><|assistant|>See.(c1 weather {"city": "Bern", "days": 1})<|end|>)"
            "<|tool|>c1dry<|end|><|assistant|>"));
    QVERIFY(prompt().find(R"("function": {"name": "weather")") != std::string::npos);
  }

  void reasoning_text_and_calls_are_items() {
    load_tool_model();
    fixture_->engine().answer_with("<think>Rain?</think>Let me see." + std::string(kCall));
    const Json json = post(response_body("Rain?", {{"tools", kWeather}})).json();
    const Json& output = json["output"];
    QCOMPARE(output.size(), std::size_t(3));
    QCOMPARE(output[0]["type"], "reasoning");
    QCOMPARE(output[0]["content"], Json::parse(R"([{"type":"reasoning_text","text":"Rain?"}])"));
    QCOMPARE(output[1]["content"][0]["text"], "Let me see.");
    QCOMPARE(output[2]["type"], "function_call");
    QCOMPARE(output[2]["name"], "weather");
    QCOMPARE(output[2]["arguments"], kArguments);
    QVERIFY(!output[2]["call_id"].get<std::string>().empty());
    QCOMPARE(json["usage"]["output_tokens_details"]["reasoning_tokens"], 5);
    QCOMPARE(json["tools"], kWeather);
  }

  void forced_calls_are_a_constraint() {
    load_tool_model();
    fixture_->engine().answer_with("<think></think>" + std::string(kCall));
    const Json named = {{"type", "function"}, {"name", "weather"}};
    const Json allowed = {{"type", "allowed_tools"}, {"mode", "required"}, {"tools", Json::array({named})}};
    for (const Json& choice : {Json("required"), named, allowed}) {
      const Json json = post(response_body("Rain?", {{"tools", kWeather}, {"tool_choice", choice}})).json();
      QVERIFY2(json.contains("output"), json.dump().c_str());
      QCOMPARE(json["output"].back()["type"], "function_call");
      QCOMPARE(json["tool_choice"], choice);
      const std::string constraint = fixture_->engine().submitted().back().sampling.structured_outputs;
      QVERIFY(tests::has(constraint, kCall) && !tests::has(constraint, "It rains."));
      QCOMPARE(tests::has(constraint, std::string(kCall) + kCall), choice != named);
    }
  }

  void what_is_wrong_with_forced_calls_is_named_in_the_words_of_the_protocol() {
    load_tool_model();
    const auto param = [&](const Json& tools, const Json& choice) {
      return post(response_body("Rain?", {{"tools", tools}, {"tool_choice", choice}})).json()["error"]["param"];
    };
    const Json other = {{"type", "function"}, {"name", "other"}};
    QCOMPARE(param(kWeather, other), "tool_choice.name");
    QCOMPARE(param(kWeather, {{"type", "allowed_tools"}, {"tools", Json::array({other})}}), "tool_choice.tools[0].name");
    QCOMPARE(param(kWeather, {{"type", "allowed_tools"}, {"mode", "any"}, {"tools", Json::array({other})}}),
             "tool_choice.mode");
    Json tools = kWeather;
    tools[0]["parameters"]["properties"]["city"] = {{"type", "array"}, {"contains", Json::object()}};
    QCOMPARE(param(tools, "required"), "tools[0].parameters.properties.city.contains");
  }

  void events_come_in_their_order() {
    fixture_->engine().answer_with("abc");
    const std::vector<Json> events = stream(fixture_->port(), response_body("Hi"));
    std::vector<std::string> types;
    for (const Json& event : events) {
      if (types.empty() || types.back() != event["type"]) types.push_back(event["type"]);
    }
    QCOMPARE(types, (std::vector<std::string>{"response.created", "response.in_progress", "response.output_item.added",
                                              "response.content_part.added", "response.output_text.delta",
                                              "response.output_text.done", "response.content_part.done",
                                              "response.output_item.done", "response.completed"}));
    QCOMPARE(events.front()["response"]["status"], "in_progress");
    QCOMPARE(events.back()["response"]["status"], "completed");
    QCOMPARE(events.back()["response"]["output"], joined_items(events));
  }

  void streamed_items_equal_whole_ones() {
    load_tool_model();
    for (const std::string& answer : {std::string("Das Öl 油."), std::string(),
                                      "<think>a</think>b" + std::string(kCall) + kCall, std::string("<think>cut")}) {
      fixture_->engine().answer_with(answer);
      Json whole = post(response_body("Rain?", {{"tools", kWeather}})).json()["output"];
      Json streamed = joined_items(stream(fixture_->port(), response_body("Rain?", {{"tools", kWeather}})));
      QVERIFY(!whole.empty());
      for (Json* items : {&whole, &streamed}) {
        for (Json& item : *items) {
          item.erase("id");
          item.erase("call_id");
        }
      }
      QCOMPARE(streamed, whole);
    }
  }

  /// The first delta is sent while the engine makes no further token.
  void the_first_delta_precedes_the_second_token() {
    fixture_->engine().answer_with("abc");
    fixture_->engine().pause();
    HttpClient client(fixture_->port());
    client.send(client.request("POST", "/v1/responses", engine::dump_json(response_body("Hi", {{"stream", true}}))));
    QVERIFY(fixture_->engine().wait_for_active(1));
    fixture_->engine().step(1);
    QVERIFY(client.await(R"("delta":"a")"));
    fixture_->engine().resume();
    QVERIFY(client.await("response.completed"));
  }

  void a_cut_answer_is_incomplete() {
    fixture_->engine().answer_with("abcdef");
    const Json json = post(response_body("Hi", {{"max_output_tokens", 2}})).json();
    QCOMPARE(json["status"], "incomplete");
    QCOMPARE(json["incomplete_details"]["reason"], "max_output_tokens");
    QCOMPARE(json["output"][0]["status"], "incomplete");
    QCOMPARE(json["max_output_tokens"], 2);
    QCOMPARE(stream(fixture_->port(), response_body("Hi", {{"max_output_tokens", 2}})).back()["type"],
             "response.incomplete");
  }

  void log_probabilities_are_included_when_asked() {
    fixture_->engine().answer_with("ab");
    const Json more = {{"include", {"message.output_text.logprobs"}}, {"top_logprobs", 2}};
    const Json logprobs = post(response_body("Hi", more)).json()["output"][0]["content"][0]["logprobs"];
    QCOMPARE(logprobs.size(), std::size_t(3));
    QCOMPARE(logprobs[0]["token"], "a");
    QCOMPARE(logprobs[0]["top_logprobs"].size(), std::size_t(2));
    QVERIFY(post(response_body("Hi")).json()["output"][0]["content"][0]["logprobs"].empty());
  }

  void a_stored_response_is_retrieved_until_it_is_deleted() {
    fixture_->engine().answer_with("Hello.");
    const Json json = post(response_body("Hi")).json();
    QCOMPARE(get(json["id"]).json(), json);
    const HttpReply deleted = send("DELETE", path_of(json["id"]));
    QCOMPARE(deleted.json(), Json({{"id", json["id"]}, {"object", "response"}, {"deleted", true}}));
    QCOMPARE(get(json["id"]).status, 404);
    QCOMPARE(send("DELETE", path_of(json["id"])).status, 404);
    const Json unstored = post(response_body("Hi", {{"store", false}})).json();
    QCOMPARE(get(unstored["id"]).status, 404);
  }

  void a_previous_response_is_continued() {
    fixture_->engine().answer_with("One.");
    const Json first = post(response_body("Hi", {{"instructions", "Be brief."}})).json();
    const Json second = post(response_body("And?", {{"previous_response_id", first["id"]}})).json();
    QCOMPARE(second["previous_response_id"], first["id"]);
    QCOMPARE(prompt(), std::string("<|user|>Hi<|end|><|assistant|>One.<|end|><|user|>And?<|end|><|assistant|>"));
    post(response_body("More?", {{"previous_response_id", second["id"]}}));
    QVERIFY(prompt().starts_with("<|user|>Hi<|end|><|assistant|>One.<|end|><|user|>And?<|end|><|assistant|>One.<|end|>"));
    const HttpReply unknown = post(response_body("Hi", {{"previous_response_id", "resp_none"}}));
    QCOMPARE(unknown.status, 400);
    QCOMPARE(unknown.json()["error"]["param"], "previous_response_id");
  }

  void input_items_are_listed_in_pages() {
    const Json input = {{{"role", "user"}, {"content", "a"}},
                        {{"role", "assistant"}, {"content", "b"}},
                        {{"role", "user"}, {"content", "c"}}};
    const std::string path = path_of(post(response_body(input)).json()["id"]) + "/input_items";
    const Json newest = HttpClient(fixture_->port()).get(path + "?limit=2").json();
    QCOMPARE(newest["data"].size(), std::size_t(2));
    QCOMPARE(newest["has_more"], true);
    QCOMPARE(newest["data"][0]["content"], Json::parse(R"([{"type":"input_text","text":"c"}])"));
    QCOMPARE(newest["data"][1]["content"][0]["type"], "output_text");
    const Json rest = HttpClient(fixture_->port()).get(path + "?after=" + newest["last_id"].get<std::string>()).json();
    QCOMPARE(rest["data"].size(), std::size_t(1));
    QCOMPARE(rest["has_more"], false);
    QCOMPARE(HttpClient(fixture_->port()).get(path + "?order=asc").json()["data"][0], rest["data"][0]);
    QCOMPARE(HttpClient(fixture_->port()).get(path + "?limit=0").status, 400);
    QCOMPARE(HttpClient(fixture_->port()).get(path + "?order=up").status, 400);
  }

  void a_response_in_the_background_is_polled() {
    fixture_->engine().answer_with("Hello.");
    fixture_->engine().pause();
    const HttpReply reply = post(response_body("Hi", {{"background", true}}));
    QCOMPARE(reply.status, 200);
    const Json id = reply.json()["id"];
    QCOMPARE(reply.json()["status"], "queued");
    QVERIFY(fixture_->engine().wait_for_active(1));
    fixture_->engine().step(1);
    QTRY_COMPARE(get(id).json()["status"], "in_progress");
    QCOMPARE(post(response_body("Hi", {{"previous_response_id", id}})).status, 400);
    fixture_->engine().resume();
    QTRY_COMPARE(get(id).json()["status"], "completed");
    QCOMPARE(get(id).json()["output"][0]["content"][0]["text"], "Hello.");
    const auto rows = fixture_->requests().records();
    QVERIFY(std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.status == app::RequestStatus::done; }));
  }

  void a_response_in_the_background_is_cancelled() {
    fixture_->engine().pause();
    const Json id = post(response_body("Hi", {{"background", true}})).json()["id"];
    const HttpReply cancelled = HttpClient(fixture_->port()).post(path_of(id) + "/cancel", "{}");
    QCOMPARE(cancelled.status, 200);
    QCOMPARE(cancelled.json()["status"], "cancelled");
    QVERIFY(fixture_->engine().wait_for_active(0));
    QCOMPARE(get(id).json()["status"], "cancelled");
    fixture_->engine().resume();
    const Json other = post(response_body("Hi")).json()["id"];
    QCOMPARE(HttpClient(fixture_->port()).post(path_of(other) + "/cancel", "{}").status, 400);
  }

  void a_stream_in_the_background_goes_on_without_its_client() {
    fixture_->engine().answer_with("abc");
    fixture_->engine().pause();
    std::string id;
    {
      HttpClient client(fixture_->port());
      const Json body = response_body("Hi", {{"stream", true}, {"background", true}});
      client.send(client.request("POST", "/v1/responses", engine::dump_json(body)));
      QCOMPARE(client.read_head().status, 200);
      const std::string created = client.read_event().value();
      id = Json::parse(created.substr(created.find('{')))["response"]["id"];
      client.reset();
    }
    fixture_->engine().resume();
    QTRY_COMPARE(get(id).json()["status"], "completed");
    HttpClient client(fixture_->port());
    client.send(client.request("GET", path_of(id) + "?stream=true&starting_after=1"));
    const std::vector<Json> events = read_events(client, 2);
    QVERIFY(!events.empty());
    QCOMPARE(events.back()["type"], "response.completed");
    QCOMPARE(joined_items(events), get(id).json()["output"]);
    const Json whole = post(response_body("Hi")).json()["id"];
    QCOMPARE(HttpClient(fixture_->port()).get(path_of(whole) + "?stream=true").status, 400);
  }

  void a_client_that_goes_ends_its_response() {
    fixture_->engine().pause();
    {
      HttpClient client(fixture_->port());
      client.send(client.request("POST", "/v1/responses", engine::dump_json(response_body("Hi", {{"stream", true}}))));
      QVERIFY(fixture_->engine().wait_for_active(1));
      client.reset();
    }
    QVERIFY(fixture_->engine().wait_for_active(0));
    fixture_->engine().resume();
    QCOMPARE(fixture_->leftovers(), std::string());
  }

  void the_oldest_turns_are_dropped_if_asked() {
    fixture_->engine().answer_with("ok");
    Json input = Json::array();
    for (int i = 0; i < 50; ++i) {
      input.push_back({{"role", "user"}, {"content", std::string(100, 'u')}});
      input.push_back({{"role", "assistant"}, {"content", std::string(100, 'a')}});
    }
    input.push_back({{"role", "user"}, {"content", "last"}});
    QCOMPARE(post(response_body(input)).status, 400);
    const Json json = post(response_body(input, {{"truncation", "auto"}, {"instructions", "i"}})).json();
    QCOMPARE(json["status"], "completed");
    QVERIFY(prompt().starts_with("<|system|>i<|end|><|user|>u"));
    QVERIFY(prompt().find("<|user|>last<|end|>") != std::string::npos);
    const Json one = {{{"role", "user"}, {"content", std::string(5000, 'u')}}};
    QCOMPARE(post(response_body(one, {{"truncation", "auto"}})).status, 400);
  }

  void a_failure_is_a_status_or_an_event() {
    fixture_->engine().fail_after(1, engine::Error{engine::ErrorCode::internal, "NaN", {}});
    const HttpReply whole = post(response_body("Hi"));
    QCOMPARE(whole.status, 500);
    QCOMPARE(whole.json()["error"]["type"], "server_error");
    const std::vector<Json> events = stream(fixture_->port(), response_body("Hi"));
    QCOMPARE(events.back()["type"], "response.failed");
    QCOMPARE(events.back()["response"]["error"]["code"], "server_error");
    QCOMPARE(events.back()["response"]["status"], "failed");
  }

  void bad_fields_are_named_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("named");
    const auto row = [](const char* body, const char* named) {
      QTest::newRow(named) << QByteArray(body) << QByteArray(named);
    };
    row(R"({})", "input");
    row(R"({"input":[{"role":"user","content":[{"type":"input_image","image_url":"u"}]}]})", "input[0].content[0].type");
    row(R"({"input":[{"type":"item_reference","id":"x"}]})", "input[0].type");
    row(R"({"input":[{"type":"function_call","name":"f"}]})", "input[0].call_id");
    row(R"({"input":[{"type":"function_call_output","call_id":"c"}]})", "input[0].output");
    row(R"({"input":[{"role":"nobody","content":"a"}]})", "input[0].role");
    row(R"({"input":"a","tools":[{"type":"file_search"}]})", "tools[0].type");
    row(R"({"input":"a","tools":[{"type":"function"}]})", "tools[0].name");
    row(R"({"input":"a","include":["nothing"]})", "include[0]");
    row(R"({"input":"a","truncation":"some"})", "truncation");
    row(R"({"input":"a","background":true,"store":false})", "background");
    row(R"({"input":"a","tool_choice":{"type":"mcp"}})", "tool_choice.type");
    row(R"({"input":"a","conversation":"c"})", "conversation");
    row(R"({"input":"a","prompt":{"id":"p"}})", "prompt");
    row(R"({"input":"a","text":{"format":{"type":5}}})", "text.format.type");
  }
  void bad_fields_are_named() {
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, named);
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/responses", body.toStdString());
    QVERIFY2(reply.status == 400, reply.body.c_str());
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(message.find(named.toStdString()) != std::string::npos, message.c_str());
  }

  void tools_of_other_servers_are_left_out_with_a_warning() {
    const HttpReply reply = post(response_body("Hi", {{"tools", {{{"type", "web_search"}}}}}));
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.json()["warnings"][0]["param"], "tools[0].type");
  }

 private:
  HttpReply post(const Json& body) { return HttpClient(fixture_->port()).post("/v1/responses", body); }
  HttpReply send(const char* method, const std::string& path) {
    HttpClient client(fixture_->port());
    client.send(client.request(method, path));
    return client.read_reply();
  }
  HttpReply get(const Json& id) { return HttpClient(fixture_->port()).get(path_of(id)); }
  static std::string path_of(const Json& id) { return "/v1/responses/" + id.get<std::string>(); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }
  void load_tool_model() { fixture_ = std::make_unique<tests::ServerFixture>(tests::thinking_tool_options()); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(ResponsesTest)

}  // namespace responses_test
#include "responses_test.moc"
