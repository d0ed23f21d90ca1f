// SPDX-License-Identifier: Apache-2.0
// Tests of the chat template that a model is loaded with, and of the answer formats that belong to it.
#include <QTest>

#include "engine/api/engine.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace load_chat_template_test {

using namespace lathe;
using namespace lathe::engine;
using tests::tiny_model_path;
using tests::TinyModelCopy;

namespace {

EngineOptions options_for(const std::string& path) {
  EngineOptions options;
  options.model = path;
  return options;
}

}  // namespace

class LoadChatTemplateTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void chat_template_is_compiled() {
    const auto engine = load_engine(options_for(tiny_model_path()));
    const ChatTemplate* chat = (*engine)->chat_template();
    QVERIFY(chat != nullptr);
    const auto spans = chat->render({{"user", "Hi"}}, {});
    QVERIFY(spans.has_value());
    QCOMPARE(joined(*spans), std::string("<s><|user|>Hi<|end|><|assistant|>"));
    QVERIFY((*load_engine(options_for(tiny_model_path("tiny-llama3-rope"))))->chat_template() == nullptr);
  }

  void an_unusable_chat_template_is_a_warning() {
    const TinyModelCopy model;
    model.edit("tokenizer_config.json", [](Json& config) { config["chat_template"] = "{% if %}"; });
    const auto engine = load_engine(options_for(model.path()));
    QVERIFY(engine.has_value());
    QVERIFY((*engine)->chat_template() == nullptr);
    QVERIFY(!(*engine)->model().info.has_chat_template);
    QVERIFY((*engine)->model().info.warnings.back().starts_with("the chat template is not used"));
    const std::string why = (*engine)->model().no_chat_text();
    QVERIFY2(why.starts_with("this model's chat template cannot be used: ") && why.find("line 1") != std::string::npos,
             why.c_str());
  }

  void an_empty_chat_template_is_a_warning() {
    const TinyModelCopy model;
    model.edit("tokenizer_config.json", [](Json& config) { config.erase("chat_template"); });
    const std::string without = (*load_engine(options_for(model.path())))->model().no_chat_text();
    QCOMPARE(without, std::string("this model has no chat template"));
    tests::write_file(model.file("chat_template.jinja"), "");
    const auto engine = load_engine(options_for(model.path()));
    const std::string why = (*engine)->model().no_chat_text();
    QVERIFY2(why.find("chat_template.jinja is empty (0 bytes)") != std::string::npos, why.c_str());
  }

  void another_chat_template_may_be_given() {
    const TinyModelCopy model;
    EngineOptions options = options_for(tiny_model_path("tiny-llama3-rope"));
    options.chat_template = model.file("other.jinja");
    tests::write_file(options.chat_template, "{{ bos_token }}{{ messages[0].content }}!");
    const auto engine = load_engine(options);
    QVERIFY(engine.has_value());
    QVERIFY((*engine)->model().info.has_chat_template);
    const std::string text = joined((*engine)->chat_template()->render({{"user", "Hi"}}, {}).value());
    QVERIFY2(text.ends_with("Hi!"), text.c_str());
  }

  void a_chat_template_that_is_given_must_be_usable() {
    const TinyModelCopy model;
    EngineOptions options = options_for(tiny_model_path());
    options.chat_template = model.file("missing.jinja");
    QCOMPARE(load_engine(options).error().code, ErrorCode::not_found);
    options.chat_template = model.file("broken.jinja");
    tests::write_file(options.chat_template, "\n{% if %}");
    const auto refused = load_engine(options);
    QVERIFY(!refused && refused.error().code == ErrorCode::model_refused);
    QVERIFY(refused.error().message.find("line 2") != std::string::npos);
  }

  void a_chat_with_tools_gets_the_template_named_tool_use() {
    const TinyModelCopy model;
    const auto with = [&](const Json& templates, const char* option = "") {
      model.edit("tokenizer_config.json", [&](Json& config) { config["chat_template"] = templates; });
      EngineOptions options = options_for(model.path());
      options.chat_template = option;
      return load_engine(options);
    };
    const Json both = {{"default", "D{{ messages[0].content }}{# <think> #}"},
                       {"tool_use", "T{{ tools|length }}{{ messages[0].content }}{# <tool_call> #}"},
                       {"rag", "R{{ messages[0].content }}"}};
    ChatRenderOptions tools;
    tools.tools = OrderedJson::array({OrderedJson::object()});
    const auto engine = with(both);
    const ChatTemplate& chat = *(*engine)->chat_template();
    QCOMPARE(joined(chat.render({{"user", "Hi"}}, {}).value()), std::string("DHi"));
    QCOMPARE(joined(chat.render({{"user", "Hi"}}, tools).value()), std::string("T1Hi"));
    QVERIFY(chat.source(false).starts_with("D") && chat.source(true).starts_with("T"));
    const LoadedModel& loaded = (*engine)->model();
    QVERIFY(loaded.info.has_chat_template);
    QCOMPARE(loaded.info.chat_templates, (std::vector<std::string>{"default", "rag", "tool_use"}));
    QCOMPARE(loaded.answer_formats.tool_calls, std::string());
    QCOMPARE(loaded.answer_formats.reasoning, std::string("qwen3"));
    QCOMPARE(loaded.answer_formats_with_tools.tool_calls, std::string("hermes"));
    QCOMPARE(loaded.answer_formats_with_tools.reasoning, std::string());

    const auto rag = with(both, "rag");
    QCOMPARE(joined((*rag)->chat_template()->render({{"user", "Hi"}}, tools).value()), std::string("RHi"));
    const auto wrong = with(both, "other");
    QVERIFY(!wrong && wrong.error().message.find("default, rag, tool_use") != std::string::npos);
  }

  void without_a_default_chats_without_tools_are_refused_by_name() {
    const TinyModelCopy model;
    model.edit("tokenizer_config.json", [](Json& config) { config["chat_template"] = {{"tool_use", "T"}, {"rag", "R"}}; });
    const auto engine = load_engine(options_for(model.path()));
    QVERIFY(!(*engine)->model().info.has_chat_template);
    QVERIFY((*engine)->model().info.warnings.back().starts_with("no chat template is named \"default\""));
    ChatRenderOptions tools;
    tools.tools = OrderedJson::array({OrderedJson::object()});
    QCOMPARE(joined((*engine)->chat_template()->render({{"user", "Hi"}}, tools).value()), std::string("T"));
    const auto refused = (*engine)->chat_template()->render({{"user", "Hi"}}, {});
    QVERIFY(!refused && refused.error().message.find("rag, tool_use") != std::string::npos);
  }

  void formats_of_answers_are_those_of_the_template_or_the_options() {
    const TinyModelCopy model;
    EngineOptions options = options_for(tiny_model_path());
    QCOMPARE((*load_engine(options))->model().answer_formats.tool_calls, std::string());
    options.chat_template = model.file("other.jinja");
    tests::write_file(options.chat_template, "{# <tool_call> <think> #}{{ messages[0].content }}");
    AnswerFormats found = (*load_engine(options))->model().answer_formats;
    QCOMPARE(found.tool_calls, std::string("hermes"));
    QCOMPARE(found.reasoning, std::string("qwen3"));
    options.tool_call_parser = "pythonic";
    options.reasoning_parser = "none";
    found = (*load_engine(options))->model().answer_formats;
    QCOMPARE(found.tool_calls, std::string("pythonic"));
    QCOMPARE(found.reasoning, std::string());
  }
};

LATHE_TEST(LoadChatTemplateTest)

}  // namespace load_chat_template_test
#include "load_chat_template_test.moc"
