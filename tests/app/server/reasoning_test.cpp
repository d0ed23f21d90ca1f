// SPDX-License-Identifier: Apache-2.0
// Reasoning of chats over HTTP: told apart from the answer, whole and streamed, and given back to the template.
#include <QtTest>

#include "tests/support/chat_stream.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace reasoning_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::joined_message;

namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}"
    "{% if reasoning_effort %}effort {{ reasoning_effort }}{% endif %}"
    "<|assistant|>{% if opens %}<think>\n{% endif %}{% if enable_thinking is defined and not enable_thinking %}"
    "<think>\n\n</think>\n\n{% endif %}";

}  // namespace

class ReasoningTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    tests::ServerFixture::Options options;
    options.model.chat_template = kTemplate;
    options.model.answer_formats = {"hermes", "qwen3"};
    fixture_ = std::make_unique<tests::ServerFixture>(options);
  }
  void cleanup() { fixture_.reset(); }

  void reasoning_stands_beside_the_content() {
    fixture_->engine().answer_with("<think>\nWarm. ö</think>\n\nSunny.");
    const Json message = whole(chat_body("Hi"))["message"];
    QCOMPARE(message["content"], "\n\nSunny.");
    QCOMPARE(message["reasoning"], "\nWarm. ö");
    QCOMPARE(message["reasoning_content"], message["reasoning"]);
    QVERIFY(!message.contains("tool_calls"));
  }
  void streamed_reasoning_equals_whole_one() {
    for (const char* answer : {"<think>\nWarm. ö</think>\n\nSunny.", "no reasoning", "<think>cut", "<thin", ""}) {
      fixture_->engine().answer_with(answer);
      const Json choice = whole(chat_body("Hi"));
      const Json streamed = joined_message(tests::stream_chat(fixture_->port(), chat_body("Hi")));
      for (const char* name : {"content", "reasoning"})
        QCOMPARE(streamed[name], choice["message"][name].is_null() ? Json("") : choice["message"][name]);
      QCOMPARE(streamed["finish_reason"], choice["finish_reason"]);
    }
  }
  /// "<thi" may become a marker, so it is held back.
  void what_was_held_back_comes_before_an_error() {
    fixture_->engine().answer_with("<thin ice");
    fixture_->engine().fail_after(4, engine::Error{engine::ErrorCode::internal, "NaN", {}});
    std::string content;
    bool has_failed = false;
    for (const Json& chunk : tests::stream_chat(fixture_->port(), chat_body("Hi"))) {
      has_failed = has_failed || chunk.contains("error");
      if (chunk.contains("choices")) content += chunk["choices"][0]["delta"].value("content", "");
    }
    QCOMPARE(content, std::string("<thi"));
    QVERIFY(has_failed);
  }
  void deltas_have_both_names() {
    fixture_->engine().answer_with("<think>a</think>b");
    std::string reasoning;
    for (const Json& chunk : tests::stream_chat(fixture_->port(), chat_body("Hi"))) {
      const Json& delta = chunk["choices"][0]["delta"];
      QCOMPARE(delta.contains("reasoning"), delta.contains("reasoning_content"));
      if (!delta.contains("reasoning")) continue;
      QVERIFY(!delta.contains("content"));
      QCOMPARE(delta["reasoning"], delta["reasoning_content"]);
      reasoning += delta["reasoning"].get<std::string>();
    }
    QCOMPARE(reasoning, std::string("a"));
  }
  void it_is_left_out_when_not_wanted() {
    fixture_->engine().answer_with("<think>secret</think>open");
    const Json body = chat_body("Hi", {{"include_reasoning", false}});
    const Json message = whole(body)["message"];
    QCOMPARE(message["content"], "open");
    QVERIFY(message["reasoning"].is_null() && message["reasoning_content"].is_null());
    for (const Json& chunk : tests::stream_chat(fixture_->port(), body))
      QVERIFY(engine::dump_json(chunk).find("secret") == std::string::npos);
  }
  void a_prompt_may_open_it_or_close_it() {
    fixture_->engine().answer_with("still warm</think>Sunny.");
    Json message = whole(chat_body("Hi", {{"chat_template_kwargs", {{"opens", true}}}}))["message"];
    QCOMPARE(message["reasoning"], "still warm");
    QCOMPARE(message["content"], "Sunny.");
    fixture_->engine().answer_with("Sunny.");
    message = whole(chat_body("Hi", {{"chat_template_kwargs", {{"enable_thinking", false}}}}))["message"];
    QVERIFY(message["reasoning"].is_null());
    QCOMPARE(message["content"], "Sunny.");
  }
  void a_user_who_writes_its_marker_opens_nothing() {
    fixture_->engine().answer_with("It opens a thought.");
    const Json message = whole(chat_body("What does <think> mean?"))["message"];
    QVERIFY(message["reasoning"].is_null());
    QCOMPARE(message["content"], "It opens a thought.");
  }
  void an_answer_may_go_on_in_it() {
    fixture_->engine().answer_with("warm.</think>Sunny.");
    const Json messages = {{{"role", "user"}, {"content", "Hi"}},
                           {{"role", "assistant"}, {"content", "<think>" + std::string(300, 'x')}}};
    const Json message = whole({{"messages", messages}, {"continue_final_message", true}})["message"];
    QCOMPARE(message["reasoning"], "warm.");
    QCOMPARE(message["content"], "Sunny.");
  }
  void an_answer_cut_in_its_reasoning_has_no_content() {
    fixture_->engine().answer_with("<think>on and on");
    const Json choice = whole(chat_body("Hi", {{"max_tokens", 10}}));
    QVERIFY(choice["message"]["content"].is_null());
    QCOMPARE(choice["message"]["reasoning"], "on ");
    QCOMPARE(choice["finish_reason"], "length");
  }
  void stop_strings_do_not_hold_within_it() {
    fixture_->engine().answer_with("<think>\n\nIs it Sunny?</think>\n\nIt is Sunny.");
    const Json body = chat_body("Hi", {{"stop", {"\n\n", "Sunny"}}, {"n", 2}});
    const Json reply = tests::post_chat(fixture_->port(), body).json();
    for (const Json& choice : reply["choices"]) {
      QCOMPARE(choice["message"]["reasoning"], "\n\nIs it Sunny?");
      QCOMPARE(choice["message"]["content"], "\n\nIt is ");
      QCOMPARE(choice["stop_reason"], "Sunny");
    }
    QCOMPARE(reply["usage"]["completion_tokens"].get<int>(),
             2 * static_cast<int>(std::string("<think>\n\nIs it Sunny?</think>\n\nIt is Sunny").size()));
    const Json streamed =
        joined_message(tests::stream_chat(fixture_->port(), chat_body("Hi", {{"stop", {"\n\n", "Sunny"}}})));
    QCOMPARE(streamed["content"], "\n\nIt is ");
    QCOMPARE(streamed["finish_reason"], "stop");
  }
  void parts_of_earlier_answers_are_taken() {
    const Json parts = Json::parse(R"([{"type": "thinking", "thinking": "Warm.", "signature": "x"},
        {"type": "text", "text": "Sunny."}, {"type": "refusal", "refusal": "No more."},
        {"type": "redacted_thinking", "data": "x"}])");
    const Json answer = {{"role", "assistant"}, {"content", parts}};
    whole({{"messages", {answer}}});
    QVERIFY2(prompt().starts_with("<|assistant|><think>Warm.</think>Sunny.\nNo more.<|end|>"), prompt().c_str());
    const Json refusal = {{"role", "assistant"}, {"content", nullptr}, {"refusal", "No."}};
    whole({{"messages", {refusal}}});
    QVERIFY2(prompt().starts_with("<|assistant|>No.<|end|>"), prompt().c_str());
    const Json of_user = {{"role", "user"}, {"content", parts}};
    QCOMPARE(tests::post_chat(fixture_->port(), {{"messages", {of_user}}}).status, 400);
  }
  void calls_come_behind_it() {
    fixture_->engine().answer_with(R"(<think>I call <tool_call> now.</think><tool_call>{"name":"f"}</tool_call>)");
    const Json body = chat_body("Hi", {{"tools", {{{"function", {{"name", "f"}}}}}}});
    for (const Json& message : {whole(body)["message"], joined_message(tests::stream_chat(fixture_->port(), body))}) {
      QCOMPARE(message["reasoning"], "I call <tool_call> now.");
      QCOMPARE(message["tool_calls"][0]["function"], Json({{"name", "f"}, {"arguments", "{}"}}));
    }
  }
  void templates_get_it_back_under_either_name() {
    for (const char* name : {"reasoning", "reasoning_content"}) {
      const Json answer = {{"role", "assistant"}, {"content", "Sunny."}, {name, "Warm.<|user|>"}};
      whole({{"messages", {answer}}});
      QCOMPARE(QString::fromStdString(prompt()),
               QString("<|assistant|><think>Warm.<|user|></think>Sunny.<|end|><|assistant|>"));
      const auto ids = fixture_->engine().submitted().back().prompt_token_ids;
      QVERIFY(std::find(ids.begin(), ids.end(), tests::ByteTokenizer::kUser) == ids.end());
    }
    const Json both = {{"role", "assistant"}, {"content", ""}, {"reasoning", "new"}, {"reasoning_content", "old"}};
    whole({{"messages", {both}}});
    QVERIFY(prompt().find("<think>new</think>") != std::string::npos);
  }
  void effort_is_a_variable_of_the_template() {
    whole(chat_body("Hi", {{"reasoning_effort", "low"}}));
    QVERIFY(prompt().ends_with("effort low<|assistant|>"));
    whole(chat_body("Hi", {{"reasoning_effort", "none"}}));
    QVERIFY(prompt().ends_with("effort none<|assistant|><think>\n\n</think>\n\n"));
    whole(chat_body("Hi", {{"reasoning_effort", "none"}, {"chat_template_kwargs", {{"enable_thinking", true}}}}));
    QVERIFY(prompt().ends_with("effort none<|assistant|>"));
  }
  void a_model_without_a_format_keeps_its_markers() {
    tests::FakeModel model;
    fixture_->load(model);
    fixture_->engine().answer_with("<think>a</think>b");
    QCOMPARE(whole(chat_body("Hi"))["message"]["content"], "<think>a</think>b");
  }

 private:
  Json whole(const Json& body) { return tests::post_chat(fixture_->port(), body).json()["choices"][0]; }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(ReasoningTest)

}  // namespace reasoning_test
#include "reasoning_test.moc"
