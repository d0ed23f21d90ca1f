// SPDX-License-Identifier: Apache-2.0
// Ollama's protocol over HTTP: chats and prompts, whole and as lines, descriptions of the model, and errors.
#include <QtTest>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/tool_chats.h"

namespace ollama_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::kArguments;
using tests::kCall;

namespace {

/// The objects of a reply: one on each line.
std::vector<Json> objects_of(const HttpReply& reply) {
  std::vector<Json> objects;
  for (const QByteArray& line : QByteArray::fromStdString(reply.body).split('\n')) {
    if (!line.isEmpty()) objects.push_back(Json::parse(line.toStdString()));
  }
  return objects;
}

}  // namespace

class OllamaTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void a_chat_answers() {
    fixture_->engine().answer_with("Hello.");
    const HttpReply reply = post("/api/chat", tests::chat_body("Hi", {{"stream", false}, {"keep_alive", "5m"}}));
    QCOMPARE(reply.status, 200);
    const Json json = reply.json();
    QCOMPARE(json["model"], "fake");
    QCOMPARE(json["message"], Json({{"role", "assistant"}, {"content", "Hello."}}));
    QCOMPARE(json["done"], true);
    QCOMPARE(json["done_reason"], "stop");
    QCOMPARE(json["prompt_eval_count"], 5);
    QCOMPARE(json["eval_count"], 7);
    QVERIFY(json["total_duration"].get<std::int64_t>() >= json["eval_duration"].get<std::int64_t>());
    QVERIFY(!json.contains("warnings"));
    QVERIFY(QDateTime::fromString(QString::fromStdString(json["created_at"]), Qt::ISODateWithMs).isValid());
  }

  void answers_are_streamed_unless_told_otherwise() {
    fixture_->engine().answer_with("Das Öl 油.");
    const HttpReply reply = post("/api/chat", tests::chat_body("Hi"));
    QCOMPARE(reply.field("Content-Type"), std::string("application/x-ndjson"));
    std::string content;
    const std::vector<Json> objects = objects_of(reply);
    QVERIFY(objects.size() >= 2);
    for (const Json& object : objects) {
      QCOMPARE(object["done"], &object == &objects.back());
      content += object["message"]["content"].get<std::string>();
    }
    QCOMPARE(content, std::string("Das Öl 油."));
    QCOMPARE(objects.back()["done_reason"], "stop");
  }

  /// The first line is sent while the engine makes no further token.
  void the_first_line_precedes_the_second_token() {
    fixture_->engine().answer_with("abc");
    fixture_->engine().pause();
    HttpClient client(fixture_->port());
    client.send(client.request("POST", "/api/chat", engine::dump_json(tests::chat_body("Hi"))));
    QVERIFY(fixture_->engine().wait_for_active(1));
    fixture_->engine().step(1);
    QVERIFY(client.await(R"("content":"a")"));
    fixture_->engine().resume();
    QVERIFY(client.await(R"("done":true)"));
  }

  void options_are_obeyed() {
    fixture_->engine().answer_with("abcdef");
    const Json options = {{"num_predict", 2}, {"temperature", 0.5}, {"num_ctx", 4096}};
    const Json json = post("/api/chat", tests::chat_body("Hi", {{"stream", false}, {"options", options}})).json();
    QCOMPARE(json["done_reason"], "length");
    QCOMPARE(json["message"]["content"], "ab");
    QCOMPARE(json["warnings"][0]["param"], "options.num_ctx");
    QCOMPARE(fixture_->engine().submitted().back().sampling.temperature, 0.5);
  }

  void thinking_and_calls_are_members() {
    load_tool_model();
    fixture_->engine().answer_with("<think>Rain?</think>Let me see." + std::string(kCall) + kCall);
    const Json message = post("/api/chat", tests::with_tools({{"stream", false}})).json()["message"];
    QCOMPARE(message["thinking"], "Rain?");
    QCOMPARE(message["content"], "Let me see.");
    QCOMPARE(message["tool_calls"].size(), std::size_t(2));
    QCOMPARE(message["tool_calls"][1]["function"],
             Json({{"index", 1}, {"name", "weather"}, {"arguments", Json::parse(kArguments)}}));

    std::string thinking, content;
    std::size_t n_calls = 0;
    for (const Json& object : objects_of(post("/api/chat", tests::with_tools()))) {
      const Json& part = object["message"];
      thinking += part.value("thinking", "");
      content += part.value("content", "");
      n_calls += part.value("tool_calls", Json::array()).size();
    }
    QCOMPARE(thinking, std::string("Rain?"));
    QCOMPARE(content, std::string("Let me see."));
    QCOMPARE(n_calls, std::size_t(2));
  }

  void a_break_and_all_digits_of_arguments_stay() {
    load_tool_model();
    const std::string call = R"(<tool_call>{"name": "weather", "arguments": {"n": 123456789012345678901}}</tool_call>)";
    fixture_->engine().answer_with("Let me see.\n\n" + call + "\n\nSunny.");
    for (const bool streams : {false, true}) {
      const HttpReply reply = post("/api/chat", tests::with_tools({{"stream", streams}}));
      std::string content;
      if (streams) {
        for (const Json& object : objects_of(reply)) content += object["message"].value("content", "");
      } else {
        content = reply.json()["message"]["content"];
      }
      QCOMPARE(content, std::string("Let me see.\n\nSunny."));
      QVERIFY2(reply.body.find(R"("arguments":{"n":123456789012345678901})") != std::string::npos, reply.body.c_str());
    }
  }

  /// Arguments of earlier calls are objects in this protocol.
  void calls_and_results_reach_the_prompt() {
    load_tool_model();
    const std::string body =
        R"({"tools":[],"stream":false,"messages":[{"role":"user","content":"Rain?"},{"role":"assistant","content":"",)"
        R"("tool_calls":[{"function":{"name":"weather","arguments":)" +
        std::string(kArguments) + R"(}}]},{"role":"tool","tool_name":"weather","content":"dry"}]})";
    const HttpReply reply = HttpClient(fixture_->port()).post("/api/chat", body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(QString::fromStdString(prompt()),
             QString(R"(<|user|>Rain?<|end|><|assistant|>( weather {"city": "Zürich", "days": 2})<|end|>)"
                     "<|tool|>dry<|end|><|assistant|>"));
  }

  void log_probabilities_come_with_their_tokens() {
    fixture_->engine().answer_with("ab");
    Json body = tests::chat_body("Hi", {{"stream", false}, {"logprobs", true}, {"top_logprobs", 2}});
    const Json logprobs = post("/api/chat", body).json()["logprobs"];
    QCOMPARE(logprobs.size(), std::size_t(3));
    QCOMPARE(logprobs[0]["token"], "a");
    QCOMPARE(logprobs[0]["top_logprobs"].size(), std::size_t(2));
    body["stream"] = true;
    std::size_t n_tokens = 0;
    for (const Json& object : objects_of(post("/api/chat", body))) {
      n_tokens += object.value("logprobs", Json::array()).size();
    }
    QCOMPARE(n_tokens, std::size_t(3));
  }

  void a_prompt_is_the_message_of_a_user() {
    fixture_->engine().answer_with("Yes.");
    const Json json =
        post("/api/generate", {{"prompt", "Hi"}, {"system", "Be brief."}, {"stream", false}, {"model", "fake"}}).json();
    QCOMPARE(json["response"], "Yes.");
    QCOMPARE(json["done_reason"], "stop");
    QVERIFY(!json.contains("message"));
    QCOMPARE(prompt(), std::string("<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>"));
  }

  void a_raw_prompt_is_the_text_itself() {
    QCOMPARE(post("/api/generate", {{"prompt", "Hi"}, {"raw", true}, {"stream", false}}).status, 200);
    QCOMPARE(prompt(), std::string("<s>Hi"));
  }

  void without_a_prompt_the_model_is_only_loaded() {
    for (const char* path : {"/api/chat", "/api/generate"}) {
      const std::vector<Json> objects = objects_of(post(path, {{"model", "fake"}, {"keep_alive", -1}}));
      QCOMPARE(objects.size(), std::size_t(1));
      QCOMPARE(objects[0]["done_reason"], "load");
    }
    QVERIFY(fixture_->engine().submitted().empty());
  }

  void keep_alive_zero_asks_to_unload_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("reason");
    QTest::addColumn<bool>("warns");
    for (const char* zero : {"0", "0.0", "\"0\"", "\"0s\"", "\"0h0m\"", "\"-0s\""})
      QTest::newRow(zero) << QByteArray(zero) << QByteArray("unload") << true;
    for (const char* more : {"-1", "300", "\"5m\"", "\"1h30m\"", "\"-1s\"", "\"0.5s\"", "null"})
      QTest::newRow(more) << QByteArray(more) << QByteArray("load") << false;
    for (const char* wrong : {"\"5\"", "\"soon\"", "[1]", "\"1.2.3s\"", "\"s\"", "true"})
      QTest::newRow(wrong) << QByteArray(wrong) << QByteArray() << false;
  }
  /// The model stays loaded, so the answer warns.
  void keep_alive_zero_asks_to_unload() {
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, reason);
    QFETCH(bool, warns);
    const Json fields = {{"stream", false}, {"keep_alive", Json::parse(value.toStdString())}};
    for (const char* path : {"/api/chat", "/api/generate"}) {
      const HttpReply empty = post(path, fields);
      const HttpReply asked = post("/api/chat", tests::chat_body("Hi", fields));
      QCOMPARE(empty.status, reason.isEmpty() ? 400 : 200);
      QCOMPARE(asked.status, empty.status);
      if (reason.isEmpty()) continue;
      QCOMPARE(empty.json()["done_reason"].get<std::string>(), reason.toStdString());
      for (const HttpReply& reply : {empty, asked}) {
        QCOMPARE(reply.field("Lathe-Ignored-Fields"), std::string(warns ? "keep_alive" : ""));
        QCOMPARE(reply.json().contains("warnings"), warns);
      }
    }
  }

  void false_that_is_obeyed_passes_silently() {
    const HttpReply reply =
        post("/api/chat", tests::chat_body("Hi", {{"stream", false}, {"truncate", false}, {"shift", false}}));
    QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
  }

  void durations_are_never_zero() {
    const Json json =
        post("/api/chat", tests::chat_body("Hi", {{"stream", false}, {"options", {{"num_predict", 1}}}})).json();
    QCOMPARE(json["eval_count"], 1);
    for (const char* name : {"eval_duration", "prompt_eval_duration", "total_duration"})
      QVERIFY2(json[name].get<std::int64_t>() >= 1, name);
  }

  void the_model_is_described() {
    const Json tags = HttpClient(fixture_->port()).get("/api/tags").json();
    QCOMPARE(tags["models"].size(), std::size_t(1));
    QCOMPARE(tags["models"][0]["name"], "fake");
    QCOMPARE(tags["models"][0]["digest"].get<std::string>().size(), std::size_t(64));
    const Json running = HttpClient(fixture_->port()).get("/api/ps").json()["models"][0];
    QCOMPARE(running["model"], "fake");
    QCOMPARE(running["context_length"], 4096);
    QCOMPARE(running["digest"], tags["models"][0]["digest"]);
    const Json shown = post("/api/show", {{"name", "fake:latest"}}).json();
    QVERIFY(shown["model_info"].contains("general.architecture"));
    QCOMPARE(shown["capabilities"], Json::parse(R"(["completion","tools"])"));
    QCOMPARE(tags["models"][0]["capabilities"], shown["capabilities"]);
    load_tool_model();
    QCOMPARE(post("/api/show", {{"model", "fake"}}).json()["capabilities"],
             Json::parse(R"(["completion","tools","thinking"])"));
    QVERIFY(!HttpClient(fixture_->port()).get("/api/version").json()["version"].get<std::string>().empty());
    QCOMPARE(HttpClient(fixture_->port()).get("/").body, std::string("Lathe is running"));
  }

  void without_a_model_the_lists_are_empty() {
    fixture_->models().unload();
    QCOMPARE(HttpClient(fixture_->port()).get("/api/tags").json(), Json({{"models", Json::array()}}));
    QCOMPARE(HttpClient(fixture_->port()).get("/api/ps").json(), Json({{"models", Json::array()}}));
    QCOMPARE(post("/api/show", {{"model", "fake"}}).status, 503);
  }

  void bad_fields_are_named_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("named");
    const auto row = [](const char* path, const char* body, const char* named) {
      QTest::newRow(named) << QByteArray(path) << QByteArray(body) << QByteArray(named);
    };
    row("/api/chat", R"({"messages":[{"role":"user","content":"a","images":["aa"]}]})", "messages[0].images");
    row("/api/chat", R"({"messages":[{"role":"nobody","content":"a"}]})", "messages[0].role");
    row("/api/chat", R"({"messages":[{"role":"user","content":"a"}],"options":{"temperature":"x"}})", "options.temperature");
    row("/api/chat", R"({"messages":[{"role":"user","content":"a"}],"top_logprobs":2})", "top_logprobs");
    row("/api/generate", R"({"prompt":"a","template":"{{ .Prompt }}"})", "template");
    row("/api/generate", R"({"prompt":"a","context":[1]})", "context");
    row("/api/generate", R"({"prompt":"a","images":["aa"]})", "images");
    row("/api/generate", R"({"prompt":"a","suffix":"b"})", "suffix");
    row("/api/generate", R"({"prompt":1})", "prompt");
  }
  void bad_fields_are_named() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, named);
    const HttpReply reply = HttpClient(fixture_->port()).post(path.toStdString(), body.toStdString());
    QVERIFY2(reply.status == 400, reply.body.c_str());
    const std::string message = reply.json()["error"];
    QVERIFY2(message.find(named.toStdString()) != std::string::npos, message.c_str());
  }

  void errors_have_the_shape_of_the_protocol() {
    QCOMPARE(post("/api/chat", tests::chat_body("Hi", {{"model", "other"}})).status, 404);
    const HttpReply unknown = post("/api/pull", {{"model", "other"}});
    QCOMPARE(unknown.status, 404);
    QVERIFY(unknown.json()["error"].is_string());
    fixture_->engine().fail_after(1, engine::Error{engine::ErrorCode::internal, "NaN", {}});
    QCOMPARE(post("/api/chat", tests::chat_body("Hi", {{"stream", false}})).status, 500);
    QVERIFY(objects_of(post("/api/chat", tests::chat_body("Hi"))).back()["error"].is_string());
  }

  void a_client_that_goes_ends_its_request() {
    fixture_->engine().pause();
    {
      HttpClient client(fixture_->port());
      client.send(client.request("POST", "/api/chat", engine::dump_json(tests::chat_body("Hi"))));
      QVERIFY(fixture_->engine().wait_for_active(1));
      client.reset();
    }
    QVERIFY(fixture_->engine().wait_for_active(0));
    fixture_->engine().resume();
    QCOMPARE(fixture_->leftovers(), std::string());
  }

 private:
  HttpReply post(const char* path, const Json& body) { return HttpClient(fixture_->port()).post(path, body); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }
  void load_tool_model() { fixture_ = std::make_unique<tests::ServerFixture>(tests::thinking_tool_options()); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(OllamaTest)

}  // namespace ollama_test
#include "ollama_test.moc"
