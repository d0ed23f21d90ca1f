// SPDX-License-Identifier: Apache-2.0
// Every row of the table of tool call formats: calls, texts beside them, what is cut off or no call; the same in all pieces.
#include <QTest>
#include <algorithm>
#include <random>
#include <set>

#include "tests/support/answer_parts.h"
#include "tests/support/call_samples.h"
#include "tests/support/test_class.h"

namespace formats_test {

using namespace lathe::engine;
using lathe::tests::AnswerCase;
using lathe::tests::CallSample;
using lathe::tests::cut_that_differs;
using lathe::tests::kCallSamples;
using lathe::tests::sample_of;
using lathe::tests::told_apart;

namespace {

struct Vector {
  const char* format;
  const char* text;
  const char* expected;
};

const Json kTools =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
  "s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"}, "o": {"type": "object"}}}}}])");

const std::vector<Vector> kVectors = {
    {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"Zürich 😀\"}}\n</tool_call>",
     "T:f {\"s\": \"Zürich 😀\"}"},
    {"hermes",
     "Ich sehe nach… "
     "\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call>\nEnde.",
     "C:Ich sehe nach…|T:f {}|T:g {}|C: \nEnde."},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"</tool_call> \\\" <tool_call>\"}}</tool_call>",
     "T:f {\"s\":\"</tool_call> \\\" <tool_call>\"}"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"n\\\": 1}\"}</tool_call>", "T:f {\"n\": 1}"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1e400, \"m\":123456789012345678901234567890}}</tool_call>",
     "C:<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1e400, \"m\":123456789012345678901234567890}}</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1}}", "T:f {\"n\":1}"},
    {"hermes", "Ja. <tool_call>{\"name\":\"f\",\"argum", "C:Ja."},
    {"hermes", "<tool_call>[{\"name\":\"f\"}, {\"name\":\"g\",\"argum", "T:f {}"},
    {"hermes", "<tool_call> is a tag", "C:<tool_call> is a tag"},
    {"hermes", "<tool_call>no</tool_call> a <tool", "C:<tool_call>no</tool_call> a <tool"},
    {"hermes", "a < b, <tool_calls>, <to", "C:a < b, <tool_calls>, <to"},
    {"hermes", "  {\"name\": \"f\"}\n ", "C:  {\"name\": \"f\"}\n "},
    {"hermes", "", ""},
    {"llama3_json", "{\"name\": \"f\", \"parameters\": {\"n\": 1}}", "T:f {\"n\": 1}"},
    {"llama3_json", "\n<|python_tag|>{\"name\": \"f\", \"parameters\": {\"n\": 1}}; {\"name\": \"g\", \"parameters\": {}}",
     "T:f {\"n\": 1}|T:g {}"},
    {"llama3_json", "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"n\": 1}}}",
     "T:f {\"n\": 1}"},
    {"llama3_json", "{\"answer\": 4} {\"name\": \"f\"}", "C:{\"answer\": 4} {\"name\": \"f\"}"},
    {"llama3_json", "{a} is a set", "C:{a} is a set"},
    {"llama3_json", "<|python_tag|>print(1)", "C:<|python_tag|>print(1)"},
    {"json", "[{\"name\": \"f\", \"arguments\": {\"o\": {\"a\": [1, \"]\"]}}}, {\"name\": \"g\", \"arguments\": null}]",
     "T:f {\"o\": {\"a\": [1, \"]\"]}}|T:g {}"},
    {"json", "{\"name\": \"Ada\", \"born\": 1815}", "C:{\"name\": \"Ada\", \"born\": 1815}"},
    {"llama3_json", "{\"name\": \"Ada\"}", "C:{\"name\": \"Ada\"}"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"argument\\u0073\":{\"n\": 1}}</tool_call>", "T:f {\"n\":1}"},
    {"json", "[link](http://a)", "C:[link](http://a)"},
    {"pythonic", "[f(s='it\\'s', n=-1.5e3, b=True), mod.g()]",
     "T:f {\"s\": \"it's\", \"n\": -1.5e3, \"b\": true}|T:mod.g {}"},
    {"pythonic", "[f(o={'k': [1, None, (2,)], \"u\": \"\\u00e9\\x41\\n\"},)]",
     "T:f {\"o\": {\"k\": [1, null, [2]], \"u\": \"éA\\n\"}}"},
    {"pythonic", "<|python_start|>[f(s=\")]\")]<|python_end|>", "T:f {\"s\": \")]\"}"},
    {"pythonic", "[1] says so", "C:[1] says so"},
    {"pythonic", "[f(x=open)] and [f(1)]", "C:[f(x=open)] and [f(1)]"},
    {"mistral",
     "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"s\": \"[TOOL_CALLS]\"}}, {\"name\": \"g\", \"arguments\": {}}]",
     "T:f {\"s\": \"[TOOL_CALLS]\"}|T:g {}"},
    {"mistral", "So: [TOOL_CALLS]f[ARGS]{\"n\": 1}[TOOL_CALLS]g[CALL_ID]abc123def[ARGS]{}",
     "C:So:|T:f {\"n\": 1}|T:g {} abc123def"},
    {"mistral", "[TOOL_CALLS]f{\"n\": }", "C:[TOOL_CALLS]f{\"n\": }"},
    {"qwen3_coder",
     "<tool_call>\n<function=f>\n<parameter=s>\n1\n</parameter>\n<parameter=n>\n2\n</parameter>\n</function>\n</tool_call>",
     "T:f {\"s\": \"1\", \"n\": 2}"},
    {"qwen3_coder",
     "<tool_call>\n<function=f>\n<parameter=s>\na\n<b>\n\n</parameter>\n<parameter=b>\nTrue\n</parameter>\n</function>\n</"
     "tool_call>",
     "T:f {\"s\": \"a\\n<b>\\n\", \"b\": true}"},
    {"qwen3_coder", "<tool_call>\n<function=f>\n</function>\n</tool_call>", "T:f {}"},
    {"qwen3_coder", "<tool_call>\n<function=f>\n<parameter=s>\na", ""},
    {"deepseek_v3",
     "Gut.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"n\": 1}\n```<｜tool▁call▁end｜>\n"
     "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "C:Gut.|T:f {\"n\": 1}|T:g {}"},
    {"deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{<｜tool▁call▁end｜>",
     "C:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{<｜tool▁call▁end｜>"},
    {"granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"n\": 1}}]", "T:f {\"n\": 1}"},
    {"granite", "<tool_call> [{\"name\": \"f\", \"arguments\": {}}] ok", "T:f {}|C:ok"},
    {"granite", "<|tool_call|>[]", "C:<|tool_call|>[]"},
    {"gemma4", "<|tool_call>call:f{s:<|\"|>a,}<tool_call|>", "C:<|tool_call>call:f{s:<|\"|>a,}<tool_call|>"},
    {"gemma4", "<|tool_call>call:f{s:<|\"|>a,}<tool_call", ""},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"x}}</tool_call>\n\"A\" and \"B\" it is.",
     "C:<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"x}}</tool_call>\n\"A\" and \"B\" it is."},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"</tool_call>\"}}", "T:f {\"s\":\"</tool_call>\"}"},
    {"pythonic", "[f(s=\"\\u00e", ""},
    {"pythonic", "[f(s=\"\\u00\")]", "C:[f(s=\"\\u00\")]"},
    {"pythonic", "[f(s=\"\\u0\"", "C:[f(s=\"\\u0\""},
    {"gemma4", "<|tool_call>call:f{s:a b c:}<tool_call|>", "T:f {\"s\": \"a b c:\"}"},
    {"gemma4", "<|tool_call>call:f{s:<|\"|>a,}\"<|\"|>,n:1,o:{k:[true,null]}}<tool_call|>",
     "T:f {\"s\": \"a,}\\\"\", \"n\": 1, \"o\": {\"k\": [true, null]}}"},
    {"functiongemma", "<start_function_call>call:f{s:<escape>Zürich<escape>}<end_function_call>", "T:f {\"s\": \"Zürich\"}"},
    {"functiongemma", "<start_function_call>call:f{}<end_function_call> <start_function_call>f<end_function_call>",
     "T:f {}|C:<start_function_call>f<end_function_call>"},
    {"glm45",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>12</arg_value>\n<arg_key>x</arg_key>\n<arg_value>[1]</arg_value>\n</"
     "tool_call>",
     "T:f {\"s\": \"12\", \"x\": [1]}"},
    {"glm45", "a <tool_call>now\n</tool_call>", "C:a|T:now {}"},
    {"glm45", "<tool_call>{\"name\": 1}</tool_call>", "C:<tool_call>{\"name\": 1}</tool_call>"},
    {"kimi_k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"n\": 1}<|tool_call_end|>"
     "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
     "T:f {\"n\": 1} functions.f:0|T:g {} functions.g:1"},
    {"kimi_k2", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"n\"", ""},
    {"minimax",
     "<tool_calls>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n{\"name\": \"g\", \"arguments\": {}}\n</tool_calls>",
     "T:f {\"n\": 1}|T:g {}"},
    {"minimax_m2",
     "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"s\">7</parameter>\n<parameter name=\"o\">{\"a\": "
     "1}</parameter>\n</invoke>\n"
     "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>",
     "T:f {\"s\": \"7\", \"o\": {\"a\": 1}}|T:g {}"},
    {"minimax_m2", "<minimax:tool_call>\n<invoke name=\"f\">\n</minimax:tool_call>",
     "C:<minimax:tool_call>\n<invoke name=\"f\">\n</minimax:tool_call>"},
    {"openai", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"n\": 1}<|call|>", "T:f {\"n\": 1}"},
};

}  // namespace

class FormatsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void vectors_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < kVectors.size(); ++i) {
      QTest::addRow("%s %.40s", kVectors[i].format, kVectors[i].text) << static_cast<int>(i);
    }
  }
  void vectors() {
    QFETCH(int, index);
    const Vector& vector = kVectors[static_cast<std::size_t>(index)];
    const AnswerCase given{{vector.format, ""}, kTools, ""};
    QCOMPARE(QString::fromStdString(told_apart(given, vector.text)), QString(vector.expected));
    QCOMPARE(QString::fromStdString(cut_that_differs(given, vector.text)), QString());
  }
  void every_format_reads_every_text_the_same_in_all_pieces() {
    for (const std::string_view format : tool_call_format_names()) {
      for (const Vector& vector : kVectors) {
        const AnswerCase given{{std::string(format), "qwen3"}, kTools, ""};
        const std::string whole = told_apart(given, vector.text);
        for (const std::size_t size : {1, 2, 3, 5}) QCOMPARE(told_apart(given, vector.text, size, size), whole);
      }
    }
  }
  void every_format_has_a_sample() {
    std::multiset<std::string_view> sampled;
    for (const CallSample& sample : kCallSamples) sampled.insert(sample.format);
    for (const std::string_view format : tool_call_format_names())
      QVERIFY2(sampled.count(format) == 1, std::string(format).c_str());
    QCOMPARE(sampled.size(), tool_call_format_names().size());
  }
  void samples_are_calls_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < kCallSamples.size(); ++i) QTest::newRow(kCallSamples[i].format) << static_cast<int>(i);
  }
  void samples_are_calls() {
    QFETCH(int, index);
    const CallSample& sample = kCallSamples[static_cast<std::size_t>(index)];
    const AnswerCase given{{sample.format, ""}, kTools, ""};
    QCOMPARE(told_apart(given, sample.spelled()), sample.expected);
    QCOMPARE(told_apart(given, sample.spelled() + "\n" + sample.spelled()).find(sample.expected), std::size_t(0));
    QCOMPARE(QString::fromStdString(cut_that_differs(given, sample.spelled())), QString());
  }
  /// Markers, brackets and quotes in any order, with texts between them.
  void random_texts_are_the_same_in_all_pieces_and_nothing_is_lost() {
    std::mt19937 random(7);
    const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    int n_calls = 0;
    for (const std::string_view format : tool_call_format_names()) {
      std::vector<std::string_view> texts;
      for (const Vector& vector : kVectors) {
        if (vector.format == format) texts.emplace_back(vector.text);
      }
      const std::string sample = sample_of(format).spelled();
      texts.emplace_back(sample);
      const AnswerCase given{{std::string(format), ""}, kTools, ""};
      for (int round = 0; round < 12; ++round) {
        std::string text;
        for (std::size_t n = pick(5) + 1; n > 0; --n) {
          const std::string_view from = texts[pick(texts.size())];
          const std::size_t begin = pick(2) == 0 ? 0 : pick(from.size() + 1);
          text += from.substr(begin, pick(2) == 0 ? from.size() : pick(from.size() + 1));
        }
        const std::string whole = told_apart(given, text);
        QCOMPARE(QString::fromStdString(cut_that_differs(given, text)), QString());
        const bool calls = whole.starts_with("T:") || whole.find("|T:") != std::string::npos;
        n_calls += calls ? 1 : 0;
        // Half a call at the end, and what is blank before it, is dropped.
        if (!calls && format != "openai" && !whole.empty()) QVERIFY2(("C:" + text).starts_with(whole), text.c_str());
      }
    }
    QVERIFY2(n_calls > 40, QByteArray::number(n_calls).constData());
  }
  void other_names_of_a_format_are_taken() {
    QCOMPARE(told_apart({{"qwen3_xml", ""}, kTools, ""}, "<tool_call><function=f></function></tool_call>"),
             std::string("T:f {}"));
    QCOMPARE(told_apart({{"llama4_pythonic", ""}, kTools, ""}, "[f()]"), std::string("T:f {}"));
  }
  void without_a_format_all_is_content() {
    const std::string text = " <tool_call>{\"name\": \"f\"}</tool_call> ";
    QCOMPARE(told_apart({{"", ""}, kTools, ""}, text), "C:" + text);
  }
  void deltas_hold_whole_characters() {
    auto parser = make_answer_parser({.formats = {"hermes", "qwen3"}});
    const std::string text = "é世😀<tool_call>x</tool_call>é";
    std::string joined;
    for (const char byte : text) {
      for (const AnswerDelta& delta : (*parser)->feed({&byte, 1})) {
        QVERIFY(QString::fromStdString(delta.text).toStdString() == delta.text);
        joined += delta.text;
      }
    }
    QVERIFY((*parser)->finish().empty());
    QCOMPARE(joined, text);
  }
  void an_unknown_name_is_refused_with_those_that_are_known() {
    const auto parser = make_answer_parser({.formats = {"hermit", ""}});
    QVERIFY(!parser);
    QCOMPARE(parser.error().code, ErrorCode::invalid_argument);
    QVERIFY(parser.error().message.find("hermes") != std::string::npos);
    QVERIFY(parser.error().message.find("hermit") != std::string::npos);
    QVERIFY(!make_answer_parser({.formats = {"", "deep"}}));
  }
};

LATHE_TEST(FormatsTest)

}  // namespace formats_test
#include "formats_test.moc"
