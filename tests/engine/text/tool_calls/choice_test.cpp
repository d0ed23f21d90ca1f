// SPDX-License-Identifier: Apache-2.0
// Tests of the choice of the formats with which a model's answers are parsed.
#include <QRegularExpression>
#include <QTest>
#include <algorithm>

#include "engine/api/answer_parser.h"
#include "engine/api/options.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/test_class.h"

namespace choice_test {

using namespace lathe::engine;

namespace {

/// Bytes, and one control token.
class OneSpecial final : public lathe::tests::ByteTokenizer {
 public:
  explicit OneSpecial(std::string piece) : special_(std::move(piece)) {}
  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    if (piece == "<s>") return std::nullopt;
    return piece == special_ ? std::optional<std::int32_t>(kBos) : ByteTokenizer::id_of(piece);
  }
  std::string piece(std::int32_t id) const override { return id == kBos ? special_ : ByteTokenizer::piece(id); }

 private:
  std::string special_;
};

}  // namespace

class ChoiceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_template_decides_unless_an_option_does() {
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
      QVERIFY(make_answer_parser({.formats = {std::string(name), ""}}).has_value());
    for (const std::string_view name : reasoning_format_names())
      QVERIFY(make_answer_parser({.formats = {"", std::string(name)}}).has_value());
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
  void markers_that_are_tokens_are_found_data() {
    QTest::addColumn<QString>("calls");
    QTest::addColumn<QString>("reasoning");
    QTest::addColumn<QString>("special");
    QTest::addColumn<bool>("found");
    const auto row = [](const char* calls, const char* reasoning, const char* special, bool found) {
      QTest::addRow("%s %s %s", calls, reasoning, special) << calls << reasoning << special << found;
    };
    row("", "", "<tool_call>", false);
    row("hermes", "", "<tool_call>", true);
    row("hermes", "", "</tool_call>", true);
    row("hermes", "", "[TOOL_CALLS]", false);
    row("mistral", "", "[TOOL_CALLS]", true);
    row("mistral", "", "[ARGS]", true);
    row("mistral", "", "[CALL_ID]", true);
    row("qwen3_xml", "", "<tool_call>", true);
    row("", "qwen3", "</think>", true);
    row("hermes", "qwen3", "<other>", false);
    row("glm45", "", "</arg_value>", true);
    row("deepseek_v3", "", "<｜tool▁sep｜>", true);
    row("gemma4", "", "<|\"|>", true);
    row("qwen3_coder", "", ">", false);
    row("openai", "", "<|channel|>", true);
    row("", "gemma4", "<|channel>", true);  // of the marker "<|channel>thought\n"
    row("openai", "", "<|other|>", false);
    row("", "openai_gptoss", "<|message|>", true);
  }
  void markers_that_are_tokens_are_found() {
    QFETCH(QString, calls);
    QFETCH(QString, reasoning);
    QFETCH(QString, special);
    QFETCH(bool, found);
    const OneSpecial tokenizer(special.toStdString());
    const auto markers = answer_markers({calls.toStdString(), reasoning.toStdString()}, tokenizer);
    const auto is_it = [&](const AnswerMarker& marker) { return marker.id == OneSpecial::kBos; };
    QCOMPARE(std::any_of(markers.begin(), markers.end(), is_it), found);
  }
  /// A request without tools watches no marker of calls: such a token stays hidden in its answer.
  void a_reading_has_the_markers_of_its_formats_alone() {
    const std::vector<AnswerMarker> all = {{5, "[TOOL_CALLS]", true, false}, {6, "[THINK]", false, true}};
    QCOMPARE(answer_reading({"mistral", "mistral"}, all).markers.size(), std::size_t(2));
    const AnswerReading reasoning = answer_reading({"", "mistral"}, all);
    QVERIFY(reasoning.markers.size() == 1 && reasoning.markers[0].text == "[THINK]");
    QVERIFY(answer_reading({}, all).markers.empty());
  }
  void ids_of_calls_have_the_form_of_the_family_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("own");
    QTest::addColumn<QString>("pattern");
    const auto row = [](const char* format, const char* own, const char* pattern) {
      QTest::addRow("%s %s", format, own) << QString(format) << QString(own) << QString(pattern);
    };
    row("mistral", "", "[A-Za-z0-9]{9}");
    row("mistral", "abc123def", "abc123def");
    row("mistral", "call_12345678", "[A-Za-z0-9]{9}");
    row("kimi_k2", "", "functions\\.f:3");
    row("kimi_k2", "functions.f:0", "functions\\.f:0");
    row("hermes", "", "chatcmpl-tool-0123456789abcdef0123456789abcdef");
    row("", "", "chatcmpl-tool-.*");
  }
  void ids_of_calls_have_the_form_of_the_family() {
    QFETCH(QString, format);
    QFETCH(QString, own);
    QFETCH(QString, pattern);
    const ToolCall call{"f", "{}", own.toStdString()};
    const std::string id = call_id({format.toStdString(), ""}, call, 3, "0123456789abcdef0123456789abcdef");
    QVERIFY2(QRegularExpression("^" + pattern + "$").match(QString::fromStdString(id)).hasMatch(), id.c_str());
    QVERIFY(id == call.id || id != call_id({format.toStdString(), ""}, call, 3, "1123456789abcdef0123456789abcdef") ||
            format == "kimi_k2");
  }
};

LATHE_TEST(ChoiceTest)

}  // namespace choice_test
#include "choice_test.moc"
