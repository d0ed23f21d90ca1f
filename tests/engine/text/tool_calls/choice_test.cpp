// SPDX-License-Identifier: Apache-2.0
// Which formats the answers of a model are read with, and what the options that name them take.
#include <QTest>
#include <set>

#include "engine/api/answer_parser.h"
#include "engine/api/options.h"
#include "tests/support/byte_tokenizer.h"

using namespace lathe::engine;

namespace {

/// Bytes, and one control token.
class OneSpecial final : public lathe::tests::ByteTokenizer {
 public:
  explicit OneSpecial(std::string piece) : special_(std::move(piece)) {}
  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    return piece == special_ ? std::optional<std::int32_t>(kBos) : ByteTokenizer::id_of(piece);
  }

 private:
  std::string special_;
};

std::set<std::string_view> names_of(std::string_view option) {
  const auto choices = choices_of(engine_option(option));
  std::set<std::string_view> names(choices.begin(), choices.end());
  names.erase(kParserOfTemplate);
  names.erase(kNoParser);
  return names;
}

template <class List>
std::set<std::string_view> set_of(const List& names) {
  return {names.begin(), names.end()};
}

}  // namespace

class ChoiceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void options_take_the_names_of_the_tables() {
    QVERIFY(names_of("tool_call_parser") == set_of(tool_call_format_names(true)));
    QVERIFY(names_of("reasoning_parser") == set_of(reasoning_format_names()));
    for (const char* option : {"tool_call_parser", "reasoning_parser"}) {
      EngineOptions options;
      QCOMPARE(get_option(options, option), std::string("auto"));
      QVERIFY(set_option(options, option, "none").has_value());
      const auto refused = set_option(options, option, "hermess");
      QVERIFY(!refused && refused.error().where == option);
    }
  }
  void every_name_makes_a_parser() {
    for (const std::string_view name : tool_call_format_names(true))
      QVERIFY(make_tool_call_parser({std::string(name), ""}).has_value());
    for (const std::string_view name : reasoning_format_names())
      QVERIFY(make_tool_call_parser({"", std::string(name)}).has_value());
  }
  void auto_is_what_the_template_shows() {
    const AnswerFormats found = answer_formats({}, "<tool_call> <think>");
    QCOMPARE(found.tool_calls, std::string("hermes"));
    QCOMPARE(found.reasoning, std::string("qwen3"));
    const AnswerFormats plain = answer_formats({}, "{{ messages }}");
    QVERIFY(plain.tool_calls.empty() && plain.reasoning.empty());
  }
  void options_come_before_the_template() {
    EngineOptions options;
    options.tool_call_parser = "qwen3_xml";
    AnswerFormats found = answer_formats(options, "<tool_call> <think>");
    QCOMPARE(found.tool_calls, std::string("qwen3_xml"));
    QCOMPARE(found.reasoning, std::string("qwen3"));
    options.tool_call_parser = options.reasoning_parser = "none";
    found = answer_formats(options, "<tool_call> <think>");
    QVERIFY(found.tool_calls.empty() && found.reasoning.empty());
  }
  void markers_that_are_control_tokens_need_them_shown_data() {
    QTest::addColumn<QString>("calls");
    QTest::addColumn<QString>("reasoning");
    QTest::addColumn<QString>("special");
    QTest::addColumn<bool>("needed");
    const auto row = [](const char* calls, const char* reasoning, const char* special, bool needed) {
      QTest::addRow("%s %s %s", calls, reasoning, special) << calls << reasoning << special << needed;
    };
    row("", "", "<tool_call>", false);
    row("hermes", "", "<tool_call>", true);
    row("hermes", "", "</tool_call>", true);
    row("hermes", "", "[TOOL_CALLS]", false);
    row("mistral", "", "[TOOL_CALLS]", true);
    row("qwen3_xml", "", "<tool_call>", true);
    row("", "qwen3", "</think>", true);
    row("hermes", "qwen3", "<s>", false);
    row("", "gemma4", "<|channel>", true);  // of the marker "<|channel>thought\n"
    row("openai", "", "<|other|>", true);   // all of harmony is control tokens
    row("", "openai_gptoss", "<|other|>", true);
  }
  void markers_that_are_control_tokens_need_them_shown() {
    QFETCH(QString, calls);
    QFETCH(QString, reasoning);
    QFETCH(QString, special);
    QFETCH(bool, needed);
    const OneSpecial tokenizer(special.toStdString());
    QCOMPARE(need_special_tokens({calls.toStdString(), reasoning.toStdString()}, tokenizer), needed);
  }
};

QTEST_GUILESS_MAIN(ChoiceTest)
#include "choice_test.moc"
