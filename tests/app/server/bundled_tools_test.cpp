// SPDX-License-Identifier: Apache-2.0
// Calls of tools by the bundled model, whose chat template knows none: the constraint alone makes them well-formed.
#include <QtTest>

#include "app/server/server.h"
#include "app/workbench/request_log.h"
#include "tests/support/chat_stream.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace bundled_tools_test {

using namespace lathe;
using engine::Json;
using tests::HttpReply;

namespace {

/// Two tools with few possible arguments, so that each call ends.
Json body_with_tools(const Json& more) {
  Json body = {{"messages", {{{"role", "user"}, {"content", "What is the weather in Oslo?"}}}},
               {"temperature", 0},
               {"max_tokens", 200},
               {"tools", Json::parse(R"([{"type":"function","function":{"name":"weather","description":"Of a city.",)"
                                     R"("parameters":{"type":"object","properties":{"city":{"enum":["Oslo","Rome"]},)"
                                     R"("days":{"type":"integer","minimum":1,"maximum":7}},"required":["city","days"]}}},)"
                                     R"({"type":"function","function":{"name":"time"}}])")}};
  body.update(more);
  return body;
}

}  // namespace

class BundledToolsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    engine::EngineOptions options;
    options.model = tests::source_path("resources/demo_model");
    QVERIFY(models_->load(options).has_value() && models_->wait().has_value());
    app::ServerOptions server_options;
    server_options.port = 0;
    QVERIFY(server_->start(server_options).has_value());
  }

  void a_demanded_call_is_made() {
    const Json weather = {{"type", "function"}, {"function", {{"name", "weather"}}}};
    const HttpReply reply = tests::post_chat(port(), body_with_tools({{"tool_choice", weather}}));
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.field("x-lathe-tools"), std::string("generic"));
    const Json choice = reply.json()["choices"][0];
    QCOMPARE(choice["finish_reason"], "tool_calls");
    QCOMPARE(choice["message"]["tool_calls"].size(), std::size_t{1});
    check_call(choice["message"]["tool_calls"][0]);
  }

  void a_demanded_call_is_streamed() {
    const Json weather = {{"type", "function"}, {"function", {{"name", "weather"}}}};
    const Json message = tests::joined_message(tests::stream_chat(port(), body_with_tools({{"tool_choice", weather}})));
    QCOMPARE(message["finish_reason"], "tool_calls");
    QCOMPARE(message["content"], "");
    check_call(message["tool_calls"].at(0));
  }

  void an_answer_may_be_text_or_calls() {
    const HttpReply reply = tests::post_chat(port(), body_with_tools(Json::object()));
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.field("x-lathe-tools"), std::string("generic"));
    const Json message = reply.json()["choices"][0]["message"];
    QVERIFY(!message["content"].is_null() || !message["tool_calls"].empty());
  }

  void a_result_is_taken_back() {
    const Json messages = Json::parse(R"([{"role":"user","content":"Weather?"},{"role":"assistant","content":null,)"
                                      R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"weather",)"
                                      R"("arguments":"{\"city\":\"Oslo\",\"days\":1}"}}]},)"
                                      R"({"role":"tool","tool_call_id":"c1","content":"dry"}])");
    const HttpReply reply = tests::post_chat(port(), body_with_tools({{"messages", messages}}));
    QVERIFY2(reply.status == 200, reply.body.c_str());
  }

 private:
  static void check_call(const Json& call) {
    QCOMPARE(call["function"]["name"], "weather");
    const Json arguments = Json::parse(call["function"]["arguments"].get<std::string>());
    QVERIFY(arguments["city"] == "Oslo" || arguments["city"] == "Rome");
    QVERIFY(arguments["days"] >= 1 && arguments["days"] <= 7);
    QCOMPARE(arguments.size(), std::size_t{2});
  }
  std::uint16_t port() const { return server_->status().port; }

  std::unique_ptr<app::Log> log_ = app::make_log({.to_stderr = false, .level = app::LogLevel::debug, .file = {}});
  std::unique_ptr<app::ModelSlot> models_ =
      app::make_model_slot([](const auto& options, const auto& observer) { return engine::load_engine(options, observer); });
  std::unique_ptr<app::RequestLog> requests_ = app::make_request_log(*models_);
  std::unique_ptr<app::Server> server_ = app::make_server(*models_, *requests_, *log_);
};

LATHE_TEST(BundledToolsTest)

}  // namespace bundled_tools_test
#include "bundled_tools_test.moc"
