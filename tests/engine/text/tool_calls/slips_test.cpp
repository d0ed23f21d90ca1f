// SPDX-License-Identifier: Apache-2.0
// Slips of models that leave a call a call: no begin marker, literals of Python, doubled keys, numbers without end; and the
// breaks around calls.
#include <QTest>
#include <algorithm>

#include "engine/text/tool_calls/call_format.h"
#include "tests/support/answer_parts.h"
#include "tests/support/call_samples.h"
#include "tests/support/test_class.h"

namespace slips_test {

using namespace lathe::engine;
using lathe::tests::AnswerCase;
using lathe::tests::CallSample;
using lathe::tests::cut_that_differs;
using lathe::tests::kCallSamples;
using lathe::tests::sample_of;
using lathe::tests::told_apart;

namespace {

const Json kTools = Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
  "properties": {"s": {"type": "string"}, "n": {"type": "number"}, "o": {"type": "object"}, "l": {"type": "array"},
                 "u": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "t": {"type": ["object", "string"]}}}}}])");

/// The parts, the same in all pieces.
std::string parts_of(const AnswerCase& given, const std::string& text) {
  const std::string other = cut_that_differs(given, text);
  return other.empty() ? told_apart(given, text) : "differs " + other;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

const char* const kMembers = R"("s":"\u0078")";  // of the samples whose arguments are JSON

}  // namespace

class SlipsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_call_without_its_begin_marker_is_one_data() {
    rows([](const CallFormat& format) { return format.tags != nullptr; });
  }
  void a_call_without_its_begin_marker_is_one() {
    const CallSample& sample = current();
    const std::string marker(format_of(sample).begins.front());
    const std::string bare = replaced(sample.spelled(), marker, ""), expected = sample.expected;
    const std::string by_token = replaced(sample.call, "\1" + marker, "");
    const AnswerCase given{{sample.format, "qwen3"}, kTools, ""};
    const AnswerCase tokens{{sample.format, "qwen3"}, kTools, "", sample.tokens};
    QCOMPARE(parts_of(given, bare), expected);
    QCOMPARE(parts_of(tokens, by_token), expected);
    QCOMPARE(parts_of(given, bare + "\n" + sample.spelled() + "\n" + bare), expected + "|" + expected + "|" + expected);
    QCOMPARE(parts_of(tokens, by_token + "\n" + sample.call), expected + "|" + expected);
    QCOMPARE(parts_of(given, "```\n" + bare + "\n```"), "C:```\n" + bare + "\n```");
    QCOMPARE(parts_of(given, "<think>" + bare + "</think>" + bare), "R:" + bare + "|" + expected);
    const Json others = Json::parse(R"([{"type": "function", "function": {"name": "fg"}}])");
    for (const Json& tools : {others, Json::array()}) {
      const std::string text = bare.substr(bare.find_first_not_of('\n'));
      QCOMPARE(parts_of({{sample.format, ""}, tools, ""}, text), "C:" + text);
    }
    for (const bool cut : {false, true}) {
      const std::size_t argument = bare.find('x');
      QCOMPARE(parts_of({{sample.format, ""}, kTools, "", {}, {}, cut}, bare.substr(0, argument)), std::string());
    }
  }
  void texts_around_a_bare_call_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    int n = 0;
    const auto row = [&](const char* format, const char* text, const char* expected) {
      QTest::addRow("%d %s", ++n, format) << QString(format) << QString(text) << QString(expected);
    };
    row("qwen3_coder", "So:\n\n<function=f>\n<parameter=s>\n1\n</parameter>\n</function>\n</tool_call>\nDone.",
        "C:So:|T:f {\"s\": \"1\"}|C:\n\nDone.");
    row("qwen3_coder", "So:\n<function=f>\n<parameter=s>\n1\n</parameter>\n</function>\n\nDone.",
        "C:So:|T:f {\"s\": \"1\"}|C:\n\nDone.");
    row("qwen3_coder", "<function=f></function>\n<function=f></function> <b", "T:f {}|T:f {}|C:<b");
    row("qwen3_coder", "<function=f></function><function=g></function>", "T:f {}|C:<function=g></function>");
    row("qwen3_coder", "<function=f></function><tool_call><function=g></function></tool_call>", "T:f {}|T:g {}");
    row("qwen3_coder", "<function=f></function>", "T:f {}");
    row("qwen3_coder", "<function=g<tool_call><function=f></function></tool_call>", "C:<function=g|T:f {}");
    row("qwen3_coder", "So `<function=f></function>` is a call.", "C:So `<function=f></function>` is a call.");
    row("qwen3_coder", "It`s <function=f></function> so\n", "C:It`s|T:f {}|C: so\n");
    row("qwen3_coder", "The tag <function=f> opens it", "C:The tag <function=f> opens it");
    row("qwen3_coder", "The tag <function=", "C:The tag <function=");
    row("qwen3_coder", "<function=f>\n<parameter=s>\na</parameter></function>\nis the end",
        "T:f {\"s\": \"a\"}|C:is the end");
    row("minimax_m2", "Now.\n<invoke name=\"f\">\n<parameter name=\"s\">7</parameter>\n</invoke>\nOK",
        "C:Now.|T:f {\"s\": \"7\"}|C:\nOK");
    row("minimax_m2", "<invoke name=\"g\"></invoke>", "C:<invoke name=\"g\"></invoke>");
    row("glm45", "f is a function", "C:f is a function");
    row("glm45", "f", "C:f");
    row("glm45", "f\n", "C:f\n");
    row("glm45", "fine <tool_call>f</tool_call>", "C:fine|T:f {}");
    row("glm45", "f <tool_call>f</tool_call> f", "C:f|T:f {}|C: f");
    row("glm45", "f\n</tool_call>", "T:f {}");
  }
  void texts_around_a_bare_call() { check_row(); }

  void one_break_stays_between_the_texts_around_a_call_data() {
    rows([](const CallFormat& format) { return format.begins.front().size() > 1; });
  }
  void one_break_stays_between_the_texts_around_a_call() {
    const std::string call = current().spelled(), expected = current().expected;
    const AnswerCase given{{current().format, ""}, kTools, ""};
    QCOMPARE(parts_of(given, "So.\n\n" + call + "\n\nDone."), "C:So.|" + expected + "|C:\n\nDone.");
    QCOMPARE(parts_of(given, "So. " + call + "\nDone."), "C:So.|" + expected + "|C:\nDone.");
    QCOMPARE(parts_of(given, "So.\n" + call + " Done."), "C:So.|" + expected + "|C:\nDone.");
    QCOMPARE(parts_of(given, "So." + call + "\n\n" + call + "\nDone.\nOK"),
             "C:So.|" + expected + "|" + expected + "|C:\n\nDone.\nOK");
    QCOMPARE(parts_of(given, "\n\n" + call + "\n\nDone."), expected + "|C:Done.");
    QCOMPARE(parts_of(given, "So.\n\n" + call + "\n\n"), "C:So.|" + expected);
  }

  void the_last_value_of_a_doubled_key_counts_data() {
    rows([](const CallFormat& format) { return sample_of(format.name).call.find(kMembers) != std::string::npos; });
  }
  void the_last_value_of_a_doubled_key_counts() {
    const std::string call =
        replaced(current().spelled(), kMembers, R"("s":"a\"}", "n": [{"k": 1, "k": 20}], "s":"\u0078")");
    const std::string expected =
        replaced(current().expected, std::string("{") + kMembers + "}", R"({"s": "\u0078", "n": [{"k": 20}]})");
    QCOMPARE(parts_of({{current().format, ""}, kTools, ""}, call), expected);
  }
  void numbers_without_end_data() {
    rows([](const CallFormat& format) { return sample_of(format.name).call.find(kMembers) != std::string::npos; });
  }
  /// A client could not read them: NaN and Infinity are not JSON, and no double holds 1e400.
  void numbers_without_end() {
    const AnswerCase given{{current().format, ""}, kTools, ""};
    for (const char* number : {"-1e300", "123456789012345678901234567890"}) {
      const std::string member = std::string("\"n\":") + number;
      QCOMPARE(parts_of(given, replaced(current().spelled(), kMembers, member)),
               replaced(current().expected, kMembers, member));
    }
    for (const char* number : {"1e400", "NaN", "Infinity", "-Infinity", "{\"n\":1,\"n\":NaN}"}) {
      const std::string text = replaced(current().spelled(), kMembers, std::string("\"n\":") + number);
      const std::string parts = parts_of(given, text);
      QVERIFY2(parts.find("T:") == std::string::npos && parts.find(number) != std::string::npos, parts.c_str());
    }
  }
  void doubled_keys_of_calls_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* format, const char* text, const char* expected) {
      QTest::addRow("%s %.60s", format, text) << QString(format) << QString(text) << QString(expected);
    };
    row("hermes", R"(<tool_call>{"name":"g","name":"f","arguments":{"n":1},"arguments":{"n":2}}</tool_call>)",
        R"(T:f {"n": 2})");
    row("hermes", R"(<tool_call>{"name":"f","arguments":"{\"n\":1,\"n\":2}"}</tool_call>)", R"(T:f {"n": 2})");
    row("hermes", R"(<tool_call>{"name":"f","arguments":{"n":1,"\u006e":2}}</tool_call>)", R"(T:f {"n": 2})");
    row("json", R"([{"name":"f","arguments":{"n":1,"n":2}},{"name":"f","arguments":{"n":3}}])",
        R"(T:f {"n": 2}|T:f {"n":3})");
    row("json", R"({"name":"Ada","name":"Eve"})", R"(C:{"name":"Ada","name":"Eve"})");
    row("json", R"({"name":"f","arguments":{"n":1,"n":}})", R"(C:{"name":"f","arguments":{"n":1,"n":}})");
    row("pythonic", "[f(n=1, n=2, o={'k': 1, 'k': 2})]", R"(T:f {"n": 2, "o": {"k": 2}})");
    row("gemma4", "<|tool_call>call:f{n:1,n:2,o:{k:1,k:2}}<tool_call|>", R"(T:f {"n": 2, "o": {"k": 2}})");
    row("qwen3_coder", "<tool_call><function=f><parameter=n>1</parameter><parameter=n>2</parameter></function></tool_call>",
        R"(T:f {"n": 2})");
    row("glm45",
        "<tool_call>f<arg_key>o</arg_key><arg_value>{\"k\":1,\"k\":2}</arg_value><arg_key>n</arg_key><arg_value>-1e300"
        "</arg_value></tool_call>",
        R"(T:f {"o": {"k": 2}, "n": -1e300})");
  }
  void doubled_keys_of_calls() { check_row(); }

  void literals_of_python_are_read_where_the_schema_allows_a_container_data() {
    QTest::addColumn<QString>("argument");
    QTest::addColumn<QString>("written");
    QTest::addColumn<QString>("json");
    const auto row = [](const char* argument, const char* written, const char* json) {
      QTest::addRow("%s %s", argument, written) << QString(argument) << QString(written) << QString(json);
    };
    row("o", "{'x': 1, 'y': None}", R"({"x": 1, "y": null})");
    row("o", "{\"x\": True, 'it\\'s': (1, -2.5e3), 3: False, None: \"a\\x41\",}",
        R"({"x": true, "it's": [1, -2.5e3], "3": false, "null": "aA"})");
    row("o", "{'n': 12345678901234567890123, 'k': 1, 'k': 2}", R"({"n": 12345678901234567890123, "k": 2})");
    row("o", "{\"x\": 'JSON'}", R"({"x": "JSON"})");
    row("o", "{\"x\":1}", R"({"x":1})");
    row("o", "{'x': open}", R"("{'x': open}")");
    row("o", "{'x', 'y'}", R"("{'x', 'y'}")");
    row("o", "{'x': 1} and more", R"("{'x': 1} and more")");
    row("l", "['a', [], {}]", R"(["a", [], {}])");
    row("l", "('a',)", R"(["a"])");
    row("u", "{'x': 1}", R"({"x": 1})");
    row("u", "None", "null");
    row("s", "{'x': 1}", R"("{'x': 1}")");
    row("t", "{'x': 1}", R"("{'x': 1}")");
    row("n", "{'x': 1}", R"("{'x': 1}")");
    row("other", "{'x': 1}", R"("{'x': 1}")");
  }
  void literals_of_python_are_read_where_the_schema_allows_a_container() {
    QFETCH(QString, argument);
    QFETCH(QString, written);
    QFETCH(QString, json);
    const QString expected = "T:f {\"" + argument + "\": " + json + "}";
    for (const CallFormat* format : call_formats()) {
      if (format->tags == nullptr) continue;
      const TagForm& tags = *format->tags;
      const std::string quote = tags.names_have_quotes ? "\"" : "";
      std::string text(format->begins.front());
      text.append(tags.call_open).append(quote + "f" + quote).append(tags.name_close);
      text.append(tags.key_open).append(quote + argument.toStdString() + quote).append(tags.key_close);
      text.append(tags.value_open).append(written.toStdString()).append(tags.value_close);
      text.append(tags.call_close).append(format->end);
      QCOMPARE(QString::fromStdString(parts_of({{std::string(format->name), ""}, kTools, ""}, text)), expected);
    }
  }

 private:
  static void rows(bool (*is_meant)(const CallFormat& format)) {
    QTest::addColumn<QString>("format");
    for (const CallFormat* format : call_formats()) {
      const std::string name(format->name);
      if (is_meant(*format)) QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
  }
  static const CallSample& current() {
    QFETCH(QString, format);
    return sample_of(format.toStdString());
  }
  static const CallFormat& format_of(const CallSample& sample) {
    return **std::find_if(call_formats().begin(), call_formats().end(),
                          [&](const CallFormat* format) { return format->name == sample.format; });
  }
  static void check_row() {
    QFETCH(QString, format);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    QCOMPARE(QString::fromStdString(parts_of({{format.toStdString(), ""}, kTools, ""}, text.toStdString())), expected);
  }
};

LATHE_TEST(SlipsTest)

}  // namespace slips_test
#include "slips_test.moc"
