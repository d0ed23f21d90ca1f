// SPDX-License-Identifier: Apache-2.0
// Where a marker counts and where it is text: tokens, code, arguments; half calls; stop strings. \x01 before a marker says
// that its token is generated.
#include <QTest>
#include <algorithm>
#include <functional>

#include "engine/text/tool_calls/call_format.h"
#include "tests/support/answer_parts.h"
#include "tests/support/call_samples.h"
#include "tests/support/test_class.h"

namespace markers_test {

using namespace lathe::engine;
using lathe::tests::AnswerCase;
using lathe::tests::CallSample;
using lathe::tests::cut_that_differs;
using lathe::tests::kCallSamples;
using lathe::tests::sample_of;
using lathe::tests::told_apart;

namespace {

const Json kTools =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
  "s": {"type": "string"}, "n": {"type": "integer"}}}}}])");

std::string without_marks(std::string text) {
  std::erase(text, '\1');
  return text;
}

}  // namespace

class MarkersTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// JSON alone has none, nor harmony, which has messages in place of blocks.
  void samples_of_formats_with_markers_have_tokens() {
    for (const CallFormat* format : call_formats()) {
      const CallSample& sample = sample_of(format->name);
      QVERIFY2(sample.tokens.empty() == markers_of(*format).empty(), sample.format);
      QVERIFY2(sample.unclosed.empty() == closing_marker(*format).empty(), sample.format);
    }
  }
  void by_token_data() { samples(); }
  void by_token() {
    const CallSample& sample = current();
    const AnswerCase given = by_tokens();
    const std::string spelled = sample.spelled();
    QCOMPARE(parts_of(given, sample.call), sample.expected);
    const bool is_bare = std::string_view(sample.format) == "pythonic" || std::string_view(sample.format) == "llama3_json";
    if (!is_bare) QCOMPARE(parts_of(given, "So: " + spelled), "C:So: " + spelled);
    QCOMPARE(parts_of(given, "So " + spelled + " so\n" + sample.call), "C:So " + spelled + " so|" + sample.expected);
  }
  void by_text_data() { samples(); }
  void by_text() {
    const std::string spelled = current().spelled();
    QCOMPARE(parts_of(plain(), spelled), current().expected);
    QCOMPARE(parts_of(plain(), "So:\n" + spelled), "C:So:|" + current().expected);
  }
  void in_a_fence_data() { samples(); }
  void in_a_fence() {
    const std::string call = current().call, spelled = without_marks(call);
    const AnswerCase tokens = by_tokens();
    struct Fence {
      const char *open, *close;
      bool is_code = true;
    };
    for (const Fence& fence :
         {Fence{"```xml", "```"}, Fence{"~~~", "~~~~"}, Fence{"````\n```", "````"}, Fence{"   ```js", "```"},
          Fence{"```js `x", "```", false}, Fence{"    ```", "", false}, Fence{"```", ""}}) {
      const std::string before = std::string("As in\n") + fence.open + "\n",
                        after = std::string("\n") + fence.close + "\nOK?";
      for (const bool is_token : {false, true}) {
        const std::string got = parts_of(is_token ? tokens : plain(), before + (is_token ? call : spelled) + after);
        if (fence.is_code) QCOMPARE(got, "C:" + before + spelled + after);
        else QVERIFY2(got.starts_with("C:" + before.substr(0, before.size() - 1) + "|" + current().expected), got.c_str());
      }
    }
    const std::string closed = "As in\n```\nx\n```\n";
    QCOMPARE(parts_of(plain(), closed + spelled), "C:As in\n```\nx\n```|" + current().expected);
    QCOMPARE(parts_of(tokens, closed.substr(0, closed.size() - 1) + call), "C:As in\n```\nx\n```|" + current().expected);
    QCOMPARE(parts_of(plain(), "As in\n```\nx\n``\n" + spelled), "C:As in\n```\nx\n``\n" + spelled);
  }
  /// Where %1 is the call, on one line.
  void in_a_fence_of_a_list_or_quote_data() { samples(); }
  void in_a_fence_of_a_list_or_quote() {
    for (const char* code :
         {"1. Like so:\n\n    ```xml\n    %1\n    ```\nOK?", "- a\n\n\t```\n\t%1\n\t```", "1. ```xml\n   %1\n   ```",
          "> ```\n> %1\n> ```\nOK?", "1. > ```\n   > %1\n   > ```", "10) a\n    - ~~~\n      %1\n      ~~~",
          "> 1. a\n>\n>     ```\n>     %1\n>     ```", "-\n  ```\n  %1\n  ```",
          "- a\n\n         ```\n         %1\n         ```", "> ```\n> ls\n```xml\n%1\n```",
          "- a\n  > - b\n\n     ```\n     %1\n     ```", "1. ```sh\n   ls\n   ```\n2. ```xml\n   %1\n"})
      check_line(code, true);
    for (const char* call :
         {"1. ```bash\n   ls\n   ```\nNow I do it.\n%1", "- ```\n  ls\n```\nNow:\n%1", "> ```\n> ls\n> ```\nNow:\n%1",
          "> ```\n> ls\n%1", "> ```\n> ls\nNow:\n%1", "> ```\n> ls\n\nNow:\n%1", "1. a\n\nNow:\n\n    ```\n%1",
          ">     ```\n%1", "-```\n%1", "1.```\n%1", "1234567890. ```\n%1", "* a\n\n          ```\n%1",
          "> - a\n\n    ```\n%1", "\t```\n%1", "**```\n%1"})
      check_line(call, false);
  }
  void in_a_code_span_data() { samples(); }
  void in_a_code_span() {
    const std::string call = on_one_line(current().call), spelled = without_marks(call), expected = current().expected;
    QCOMPARE(parts_of(plain(), "So `" + spelled + "` is a call"), "C:So `" + spelled + "` is a call");
    QCOMPARE(parts_of(plain(), "So ``" + spelled + "``"), "C:So ``" + spelled + "``");
    for (const bool is_token : {false, true}) {
      const AnswerCase given = is_token ? by_tokens() : plain();
      const std::string& text = is_token ? call : spelled;
      QCOMPARE(parts_of(given, "It`s so: " + text), "C:It`s so:|" + expected);
      QCOMPARE(parts_of(given, "It`s so: " + text + "\n`x`"), "C:It`s so:|" + expected + "|C:\n`x`");
      QCOMPARE(parts_of(given, "It`s so: " + text + " and\n" + text), "C:It`s so:|" + expected + "|C: and|" + expected);
      QCOMPARE(parts_of(given, "So `" + text + "` and " + text), "C:So `" + spelled + "` and|" + expected);
      QCOMPARE(parts_of(given, "A `b` c: " + text), "C:A `b` c:|" + expected);
      QCOMPARE(parts_of(given, "A \\` c: " + text + " ` d"), "C:A \\` c:|" + expected + "|C: ` d");
    }
  }
  /// The text of such a block may be all of the answer that there is.
  void an_end_in_an_open_string_does_not_swallow_the_answer_data() {
    samples([](const CallSample& sample) { return !sample.unclosed.empty(); });
  }
  void an_end_in_an_open_string_does_not_swallow_the_answer() {
    const std::string unclosed = current().unclosed;
    const std::string end = current().tokens.size() > 1 ? "\nHere is the answer." : "";
    for (const bool is_token : {false, true}) {
      AnswerCase given = is_token ? by_tokens() : plain();
      const std::string spelled = without_marks(unclosed), &block = is_token ? unclosed : spelled;
      const std::string call = is_token ? current().call : current().spelled();
      QCOMPARE(parts_of(given, "I look.\n" + block + end), "C:I look.\n" + spelled + end);
      QCOMPARE(parts_of(given, "It`s\n" + block), "C:It`s\n" + spelled);
      QCOMPARE(parts_of(given, call + block + end), current().expected + "|C:" + spelled + end);
      given.cut = true;
      QCOMPARE(parts_of(given, "I look.\n" + block + end), "C:I look.");
    }
  }
  void every_beginning_of_a_call_is_dropped_data() { samples(); }
  void every_beginning_of_a_call_is_dropped() {
    const std::string spelled = current().spelled();
    const std::vector<std::string>& markers = current().tokens;
    for (const bool cut : {false, true}) {
      const AnswerCase given{{current().format, ""}, kTools, "", {}, {}, cut};
      for (std::size_t size = markers.front().size(); size < spelled.size(); ++size) {
        const std::string half = spelled.substr(0, size);
        // The beginning of a marker may be a text, if the answer ended by itself.
        const bool ends_in_marker = std::any_of(markers.begin(), markers.end(), [&](const std::string& marker) {
          for (std::size_t n = 1; n < marker.size(); ++n) {
            if (half.ends_with(marker.substr(0, n))) return true;
          }
          return false;
        });
        if (ends_in_marker && !cut) continue;
        const std::string got = told_apart(given, "I look.\n" + half);
        QVERIFY2(got == "C:I look." || got == "C:I look.|" + current().expected, (half + " -> " + got).c_str());
      }
    }
  }
  void whole_calls_before_half_a_one_are_kept_data() { samples(); }
  void whole_calls_before_half_a_one_are_kept() {
    const std::string spelled = current().spelled();
    const AnswerCase given{{current().format, ""}, kTools, "", {}, {}, true};
    const std::string got = told_apart(given, spelled + "\n" + spelled.substr(0, spelled.size() - spelled.size() / 3));
    QVERIFY2(got.starts_with("T:f {\"s\"") && got.find("C:") == got.npos, got.c_str());
  }
  void closing_tags_in_an_argument_are_its_text_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("argument");
    const auto row = [](const char* format, const char* text, const char* argument) {
      QTest::addRow("%s %.50s", format, argument) << QString(format) << QString(text) << QString(argument);
    };
    row("qwen3_coder", "<tool_call><function=f><parameter=s>%1</parameter></function></tool_call>",
        "a</parameter> b</function> c</tool_call> <tool_call>");
    row("qwen3_coder", "<tool_call><function=f><parameter=s>%1</parameter></function></tool_call>",
        "</parameter></parameter>\n</function>x");
    row("minimax_m2",
        "<minimax:tool_call><invoke name=\"f\"><parameter name=\"s\">%1</parameter></invoke></minimax:tool_call>",
        "a</parameter>b</invoke></minimax:tool_call>");
    row("glm45", "<tool_call>f<arg_key>s</arg_key><arg_value>%1</arg_value></tool_call>",
        "a</arg_value> b</tool_call> <arg_key>");
    row("gemma4", "<|tool_call>call:f{s:<|\"|>%1<|\"|>}<tool_call|>", "a<tool_call|> <|\"|> b}");
    row("functiongemma", "<start_function_call>call:f{s:<escape>%1<escape>}<end_function_call>",
        "a<end_function_call><escape> b");
    row("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"%1\"}}</tool_call>", "a</tool_call><tool_call>");
    row("minimax", "<tool_calls>{\"name\":\"f\",\"arguments\":{\"s\":\"%1\"}}</tool_calls>", "a</tool_calls>");
    row("deepseek_v3", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"s\":\"%1\"}<｜tool▁call▁end｜>", "a<｜tool▁call▁end｜>");
    row("kimi_k2", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"s\":\"%1\"}<|tool_call_end|>",
        "a<|tool_call_end|>");
    row("granite", "<|tool_call|>[{\"name\":\"f\",\"arguments\":{\"s\":\"%1\"}}]", "a}]<|tool_call|>");
    row("mistral", "[TOOL_CALLS]f[ARGS]{\"s\":\"%1\"}", "a}[TOOL_CALLS]");
    row("pythonic", "[f(s=\"%1\")]", "a)]");
    row("json", "{\"name\":\"f\",\"arguments\":{\"s\":\"%1\"}}", "}}]");
    row("llama3_json", "{\"name\":\"f\",\"parameters\":{\"s\":\"%1\"}}", "}};<|python_tag|>");
    row("openai", "<|channel|>commentary to=functions.f<|message|>{\"s\":\"%1\"}<|call|>", "<|call|><|end|>");
  }
  void closing_tags_in_an_argument_are_its_text() {
    QFETCH(QString, format);
    QFETCH(QString, text);
    QFETCH(QString, argument);
    const AnswerCase given{{format.toStdString(), ""}, kTools, ""};
    const std::string got = parts_of(given, text.arg(argument).toStdString());
    QVERIFY2(got.starts_with("T:f {"), got.c_str());
    const std::string json = got.substr(4, got.find_last_of('}') - 3);
    QCOMPARE(QString::fromStdString(Json::parse(json)["s"].get<std::string>()), argument);
  }
  /// The tag that closes a call may be left out where the end of its block is a token.
  void an_end_token_closes_a_call_without_its_tag_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QStringList>("tokens");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    QTest::newRow("two calls") << "qwen3_coder" << QStringList{"<tool_call>", "</tool_call>"}
                               << "\1<tool_call><function=f><parameter=s>x</parameter>\n\1</tool_call>"
                                  "\1<tool_call><function=f><parameter=s>y</parameter></function>\1</tool_call>"
                               << R"(T:f {"s": "x"}|T:f {"s": "y"})";
    QTest::newRow("text after it") << "minimax_m2" << QStringList{"<minimax:tool_call>", "</minimax:tool_call>"}
                                   << "\1<minimax:tool_call><invoke name=\"f\"><parameter name=\"s\">x</parameter>"
                                      "\1</minimax:tool_call>So."
                                   << R"(T:f {"s": "x"}|C:So.)";
  }
  void an_end_token_closes_a_call_without_its_tag() {
    QFETCH(QString, format);
    QFETCH(QStringList, tokens);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    AnswerCase given{{format.toStdString(), ""}, kTools, ""};
    for (const QString& token : tokens) given.tokens.push_back(token.toStdString());
    QCOMPARE(QString::fromStdString(parts_of(given, text.toStdString())), expected);
  }
  void reasoning_by_token_data() {
    QTest::addColumn<QString>("formats");
    QTest::addColumn<QStringList>("tokens");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* formats, const QStringList& tokens, const char* text, const char* expected) {
      QTest::addRow("%s %.40s", formats, text) << QString(formats) << tokens << QString(text) << QString(expected);
    };
    const QStringList think = {"<think>", "</think>", "<tool_call>", "</tool_call>"};
    row(",qwen3", think, "\1<think>The </think> tag\1</think>4", "R:The </think> tag|C:4");
    row(",qwen3", think, "<think>no</think>4", "C:<think>no</think>4");
    row(",qwen3", {"</think>"}, "<think>a</think>b\1</think>4", "R:a</think>b|C:4");
    row(",deepseek_r1", think, "a</think>b\1</think>4", "R:a</think>b|C:4");
    row("hermes,qwen3", think, "\n\1<tool_call>{\"name\":\"f\"}\1</tool_call>", "T:f {}");
    row("hermes,qwen3", think, "\1<think>a\1<tool_call>b\1</think>\1<tool_call>{\"name\":\"f\"}\1</tool_call>",
        "R:a<tool_call>b|T:f {}");
    row("hermes,qwen3", think, "\1<think>a\1</think>b\1<think>c\1</think>d", "R:a|C:b|R:c|C:d");
    row("hermes,qwen3", think, "\1<think>a\1</think>```\n\1<think>\n```", "R:a|C:```\n<think>\n```");
    row("hermes,qwen3", think, "\1<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"\1<think>\"}}\1</tool_call>",
        "T:f {\"s\":\"<think>\"}");
    row(",qwen3", think, "\1<think>on and on </think>", "R:on and on </think>");
    row(",gemma4", {"<|channel>", "<channel|>"}, "\1<|channel>thought\nHm<channel|>\1<channel|>4<|channel>thought\n",
        "R:Hm<channel|>|C:4<|channel>thought\n");
    row(",mistral", {"[THINK]", "[/THINK]"}, "\1[THINK]a[/THINK]\1[/THINK]4", "R:a[/THINK]|C:4");
    row(",cohere_command3", {"<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"},
        "\1<|START_THINKING|>a<|END_THINKING|>\1<|END_THINKING|>\1<|START_RESPONSE|>4<|END_RESPONSE|>\1<|END_RESPONSE|>",
        "R:a<|END_THINKING|>|C:4<|END_RESPONSE|>");
    const QStringList cohere = {"<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"};
    row(",cohere_command3", cohere, "\1<|START_RESPONSE|>Press the ` key.\1<|END_RESPONSE|>", "C:Press the ` key.");
    row(",cohere_command3", cohere, "\1<|START_THINKING|>a\1<|END_THINKING|>\1<|START_RESPONSE|>```\nx\1<|END_RESPONSE|>",
        "R:a|C:```\nx");
    row("hermes,cohere_command3", cohere,
        "\1<|START_RESPONSE|>It`s <tool_call>{\"name\":\"f\"}</tool_call>\1<|END_RESPONSE|>", "C:It`s|T:f {}");
    row("hermes,cohere_command3", cohere, "<tool_call>{\"name\":\"f\"\1<|END_RESPONSE|>}</tool_call>", "T:f {}");
    row("hermes,qwen3", think, "\1<think>a\1</think>Press ` \1<think>b\1</think> ok", "R:a|C:Press ` |R:b|C: ok");
    row("hermes,qwen3", think, "\1<think>a\1</think>It`s \1<tool_call>{\"name\":\"f\"}\1</tool_call>\1<think>b\1</think>c",
        "R:a|C:It`s|T:f {}|R:b|C: c");
    row("hermes,qwen3", {"<think>", "</think>"}, "\1<think>a\1</think>b <tool\1<think>c\1</think>d",
        "R:a|C:b <tool|R:c|C:d");
    row("hermes,qwen3", think,
        "\1<think>a\1</think>```\nx\n```\1<think>b\1</think> \1<tool_call>{\"name\":\"f\"}\1</tool_call>",
        "R:a|C:```\nx\n```|R:b|T:f {}");
    const QStringList harmony = {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|constrain|>"};
    row("openai,openai_gptoss", harmony,
        "\1<|channel|>analysis\1<|message|>a<|end|>\1<|end|>\1<|start|>assistant\1<|channel|>final\1<|message|>b<|channel|>",
        "R:a<|end|>|C:b<|channel|>");
  }
  void reasoning_by_token() {
    QFETCH(QString, formats);
    QFETCH(QStringList, tokens);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    AnswerCase given{{formats.split(',')[0].toStdString(), formats.split(',')[1].toStdString()}, kTools, ""};
    for (const QString& token : tokens) given.tokens.push_back(token.toStdString());
    QCOMPARE(QString::fromStdString(parts_of(given, text.toStdString())), expected);
  }
  void stop_strings_hold_for_the_content_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QStringList>("stop");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* text, const QStringList& stop, const char* expected) {
      QTest::addRow("%.60s", text) << QString(text) << stop << QString(expected);
    };
    row("<think>a\n\nb</think>\n\n4\n\n5", {"\n\n"}, "R:a\n\nb|C:\n\n4");
    row("<think>x</think>Answer: 4", {"Answer:", "x"}, "R:x|C:");
    row("<think>xy</think>z 4", {"</think>", "yz", "y</think>z"}, "R:xy|C:z 4");
    row("a <tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"STOP\"}}</tool_call> b STOP c", {"STOP"},
        "C:a|T:f {\"s\":\"STOP\"}|C: b ");
    row("<tool_call>{\"name\":\"STOP\"", {"STOP"}, "");
    row("<tool_call>{\"name\":\"f\"}</tool_call>", {"<tool_call>", "tool", "</"}, "T:f {}");
    row("<tool_call> STOP", {"STOP"}, "C:<tool_call> ");
    row("ab abc", {"abcd", "abc", "b a"}, "C:a");
    row("```\n<tool_call>STOP", {"STOP"}, "C:```\n<tool_call>");
    row("It`s <tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"STOP\"}}</tool_call>` STOP", {"STOP"},
        "C:It`s <tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"");
  }
  void stop_strings_hold_for_the_content() {
    QFETCH(QString, text);
    QFETCH(QStringList, stop);
    QFETCH(QString, expected);
    AnswerCase given{{"hermes", "qwen3"}, kTools, ""};
    for (const QString& string : stop) given.stop.push_back(string.toStdString());
    if (expected.endsWith("|C:")) expected.chop(3);
    QCOMPARE(QString::fromStdString(parts_of(given, text.toStdString())), expected);
  }
  void watching_finds_the_same_stop_string_and_keeps_nothing() {
    const std::vector<std::string> stop = {"no", "STOP"};
    auto parser = make_answer_parser({.formats = {"hermes", "qwen3"}}, {.strings = stop});
    QCOMPARE((*parser)->watch("<think>STOP</think>a ST", {}), -1);
    QCOMPARE((*parser)->watch("OP b", {}), 1);
    QCOMPARE((*parser)->stop(), 1);
    QVERIFY((*parser)->finish().empty());
  }
  void stop_strings_wait_for_their_mark() {
    const std::vector<std::string> stop = {"STOP"};
    auto parser = make_answer_parser({.formats = {"hermes", ""}}, {.strings = stop, .include = true, .hold = false});
    const std::vector<TextMark> marks = {{7, TextMark::kStopsHold}};
    lathe::tests::AnswerParts parts;
    parts.add((*parser)->feed("aSTOP b STOP c", marks));
    parts.add((*parser)->finish());
    QCOMPARE(parts.line(), std::string("C:aSTOP b STOP"));
  }

 private:
  static void samples(const std::function<bool(const CallSample&)>& is_meant = [](const CallSample&) { return true; }) {
    QTest::addColumn<int>("sample");
    for (std::size_t i = 0; i < kCallSamples.size(); ++i) {
      const CallSample& sample = kCallSamples[i];
      if (!sample.tokens.empty() && is_meant(sample)) QTest::newRow(sample.format) << static_cast<int>(i);
    }
  }
  static const CallSample& current() {
    QFETCH(int, sample);
    return kCallSamples[static_cast<std::size_t>(sample)];
  }
  static AnswerCase plain() { return {{current().format, ""}, kTools, ""}; }
  static AnswerCase by_tokens() { return {{current().format, ""}, kTools, "", current().tokens}; }
  static std::string on_one_line(std::string text) {
    std::erase(text, '\n');
    return text;
  }
  /// A text with the call in place of %1: all of it is text, or the call is one.
  static void check_line(std::string_view form, bool is_code) {
    const std::size_t at = form.find("%1");
    const std::string before(form.substr(0, at)), after(form.substr(at + 2)), call = on_one_line(current().call);
    const std::string visible = before.substr(0, before.find_last_not_of(" \n") + 1);
    const std::string expected = is_code ? before + without_marks(call) + after : visible + "|" + current().expected;
    QCOMPARE(parts_of(plain(), before + without_marks(call) + after), "C:" + expected);
    QCOMPARE(parts_of(by_tokens(), before + call + after), "C:" + expected);
  }
  /// The parts, the same in all pieces.
  static std::string parts_of(const AnswerCase& given, const std::string& text) {
    const std::string other = cut_that_differs(given, text);
    return other.empty() ? told_apart(given, text) : "differs " + other;
  }
};

LATHE_TEST(MarkersTest)

}  // namespace markers_test
#include "markers_test.moc"
