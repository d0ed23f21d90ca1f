// SPDX-License-Identifier: Apache-2.0
// robustness row T11: broken and endless tool calls.
#include <QTest>

#include "tests/support/answer_parts.h"
#include "tests/support/call_samples.h"
#include "tests/support/test_class.h"

namespace hostile_test {

using namespace lathe::engine;
using lathe::tests::CallSample;
using lathe::tests::kCallSamples;
using lathe::tests::told_apart;

namespace {

std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

}  // namespace

class HostileTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void T11_deep_nesting_that_never_closes_is_content_or_half_a_call_data() { formats(); }
  void T11_deep_nesting_that_never_closes_is_content_or_half_a_call() {
    QFETCH(int, index);
    const CallSample& sample = kCallSamples[static_cast<std::size_t>(index)];
    for (const char* nest : {"[", "{\"a\":", "(", "{a:[", "<tool_call>", "<parameter=x>", "\""}) {
      const std::string text = sample.opening + repeated(nest, 30'000);
      const std::string parts = told_apart({{sample.format, ""}, Json::array(), ""}, text, 1000, 4096);
      QVERIFY(parts.empty() || parts == "C:" + text);
    }
  }
  void T11_deep_nesting_that_closes_is_no_call_of_json() {
    const std::string text = "<tool_call>{\"name\":\"f\",\"arguments\":" + repeated("{\"a\":", 100'000) + "1" +
                             repeated("}", 100'000) + "}</tool_call>";
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, text), "C:" + text);
    const std::string python = "[f(x=" + repeated("[", 100'000) + repeated("]", 100'000) + ")]";
    QCOMPARE(told_apart({{"pythonic", ""}, Json::array(), ""}, python), "C:" + python);
    const std::string gemma = "<|tool_call>call:f{x:" + repeated("[", 100'000) + repeated("]", 100'000) + "}<tool_call|>";
    QCOMPARE(told_apart({{"gemma4", ""}, Json::array(), ""}, gemma), "C:" + gemma);
  }
  void T11_ten_megabytes_of_arguments_are_a_call() {
    const std::string big = repeated("0123456789", 1'000'000);
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""},
                        "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"" + big + "\"}}</tool_call>"),
             "T:f {\"s\": \"" + big + "\"}");
  }
  void T11_more_than_is_kept_is_content_and_the_answer_goes_on() {
    const std::string text = "<tool_call>{" + repeated("0123456789abcdef", 1u << 20);
    const std::string call = "<tool_call>{\"name\": \"f\"}</tool_call>";
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, text + "x" + call, 1u << 16, 1u << 16),
             "C:" + text + "x|T:f {}");
  }
  void T11_blanks_without_end_go_out() {
    const std::string text = repeated(" \n", 100'000);
    for (const CallSample& sample : kCallSamples)
      QCOMPARE(told_apart({{sample.format, "qwen3"}, Json::array(), ""}, text, 1000, 4096), "C:" + text);
  }
  void T11_broken_utf8_in_the_middle_of_a_call_is_content() {
    const std::string text = "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"\xC3\xFF\"}}</tool_call>\xE4\xB8";
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, text), "C:" + text);
    QCOMPARE(lathe::tests::cut_that_differs({{"hermes", ""}, Json::array(), ""}, text), std::string());
  }
  /// Each closing tag may be the argument's text, until what follows it is no tag.
  void T11_many_closing_tags_in_an_argument_are_its_text() {
    const std::string tags = repeated("</parameter> </function> x </tool_call>", 100'000);
    QCOMPARE(told_apart({{"qwen3_coder", ""}, Json::array(), ""},
                        "<tool_call><function=f><parameter=x>" + tags + "</parameter></function></tool_call>", 1000, 4096)
                 .size(),
             std::string("T:f {\"x\": \"\"}").size() + tags.size());
    const std::string blanks = "<tool_call>f<arg_key>x</arg_key><arg_value>" + repeated("</arg_value>\n ", 100'000);
    QCOMPARE(told_apart({{"glm45", ""}, Json::array(), "", {}, {}, true}, blanks, 1000, 4096), std::string());
  }
  void T11_backticks_without_end_are_content() {
    const std::string call = "<tool_call>{\"name\": \"f\"}</tool_call>";
    const std::string ticks = repeated("` `` ", 100'000);
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, ticks + call, 1000, 4096),
             "C:" + ticks.substr(0, ticks.size() - 1) + "|T:f {}");
    const std::string quoted = "`" + repeated(call, 10'000);
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, quoted + "`", 1000, 4096), "C:" + quoted + "`");
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, quoted, 1000, 4096),
             "C:`|" + repeated("T:f {}|", 9'999) + "T:f {}");
  }
  void T11_many_calls_and_many_beginnings_are_all_told_apart() {
    const std::string call = "<tool_call>{\"name\": \"f\"}</tool_call>";
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, repeated(call, 10'000)), repeated("T:f {}|", 9'999) + "T:f {}");
    const std::string beginnings = repeated("<tool_cal<", 100'000);
    QCOMPARE(told_apart({{"hermes", ""}, Json::array(), ""}, beginnings), "C:" + beginnings);
  }

 private:
  static void formats() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < kCallSamples.size(); ++i) QTest::newRow(kCallSamples[i].format) << static_cast<int>(i);
  }
};

LATHE_TEST(HostileTest)

}  // namespace hostile_test
#include "hostile_test.moc"
