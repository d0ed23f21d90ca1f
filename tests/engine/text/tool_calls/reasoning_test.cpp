// SPDX-License-Identifier: Apache-2.0
// Reasoning at the beginning of an answer, and the formats that a chat template chooses.
#include <QTest>

#include "engine/base/text_file.h"
#include "tests/support/answer_parts.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace reasoning_test {

using namespace lathe::engine;
using lathe::tests::AnswerCase;
using lathe::tests::cut_that_differs;
using lathe::tests::shared_path;
using lathe::tests::told_apart;

class ReasoningTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void vectors_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("prompt");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    int n = 0;
    const auto row = [&](const char* format, const char* prompt, const char* text, const char* expected) {
      QTest::addRow("%d %s", ++n, format) << QString(format) << QString(prompt) << QString(text) << QString(expected);
    };
    row("qwen3", "", "<think>Hm… <b></think>\n\n4.", "R:Hm… <b>|C:\n\n4.");
    row("qwen3", "", "\n <think></think>4.", "C:4.");
    row("qwen3", "", "4 <think>no</think>.", "C:4 <think>no</think>.");
    row("qwen3", "", "<<think>no", "C:<<think>no");
    row("qwen3", "", "<think>cut o", "R:cut o");
    row("qwen3", "", "<think>cut o</thi", "R:cut o</thi");
    row("qwen3", "", "<think>`</think>` is a tag.\n```\n</think>\n```\n</think>4",
        "R:`</think>` is a tag.\n```\n</think>\n```\n|C:4");
    row("qwen3", "", "<think>It`s so</think>4 and\n5", "R:It`s so|C:4 and\n5");
    row("qwen3", "", "<think>1. ```\n   </think>\n   ```\nok</think>4", "R:1. ```\n   </think>\n   ```\nok|C:4");
    row("qwen3", "", " <thi", "C: <thi");
    row("qwen3", "assistant\n<think>\n", "Hm</think>4", "R:Hm|C:4");
    row("qwen3", "<think>\n\n</think>\n\n", "4</think>", "C:4</think>");
    row("deepseek_r1", "", "Hm</think>4", "R:Hm|C:4");
    row("deepseek_r1", "", "<think>Hm</think>4", "R:Hm|C:4");
    row("deepseek_r1", "", "<<think></think>4", "R:<<think>|C:4");
    row("deepseek_r1", "", "</think>4", "C:4");
    row("deepseek_r1", "", "only this", "R:only this");
    row("deepseek_r1", "<｜Assistant｜></think>", "4", "C:4");
    row("minimax_m2", "", "Hm\n</think>\n4", "R:Hm\n|C:\n4");
    row("kimi_k2", "", "<think>Hm</think>4", "R:Hm|C:4");
    row("glm45", "", "\n<think>Hm</think>\n4", "R:Hm|C:\n4");
    row("mistral", "", "[THINK]Hm [x][/THINK]4", "R:Hm [x]|C:4");
    row("granite", "", "<think>Hm</think>\n<response>4</response>", "R:Hm|C:\n4");
    row("granite", "", "Here is my thought process: Hm\nHere is my response: 4", "R: Hm\n|C: 4");
    row("gemma4", "", "<|channel>thought\nHm\n<channel|>4", "R:Hm\n|C:4");
    row("cohere_command3", "", "<|START_THINKING|>Hm<|END_THINKING|><|START_RESPONSE|>4<|END_RESPONSE|>", "R:Hm|C:4");
    row("seed_oss", "", "<seed:think>Hm</seed:think>4", "R:Hm|C:4");
    row("openai_gptoss", "",
        "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>", "R:Hm|C:4");
  }
  void vectors() {
    QFETCH(QString, format);
    QFETCH(QString, prompt);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    const AnswerCase given{{"hermes", format.toStdString()}, Json::array(), prompt.toStdString()};
    QCOMPARE(QString::fromStdString(told_apart(given, text.toStdString())), expected);
    QCOMPARE(QString::fromStdString(cut_that_differs(given, text.toStdString())), QString());
  }
  /// Spans of \x01 are the template's own text.
  void the_template_says_where_the_answer_begins_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QStringList>("spans");
    QTest::addColumn<bool>("goes_on");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* format, const QStringList& spans, bool goes_on, const char* expected) {
      QTest::newRow(name) << QString(format) << spans << goes_on << QString(expected);
    };
    const QString head = "\1<|im_end|>\n<|im_start|>assistant\n", think = head + "<think>\n", long_text(1000, 'x');
    row("opened", "qwen3", {"Hi", think}, false, "R:a|C:b");
    row("asked by the user", "qwen3", {"What does <think> mean?", head}, false, "C:a</think>b");
    row("asked in the user's only message", "qwen3", {"What does <think> mean?"}, false, "C:a</think>b");
    row("closed by the user", "qwen3", {"</think>", think}, false, "R:a|C:b");
    row("closed by the user, and always opened", "deepseek_r1", {"</think>", "\1<|Assistant|>"}, false, "R:a|C:b");
    row("in an earlier answer", "deepseek_r1", {"Hi", "\1A:</think>", "Ho", "\1U:", "Hi", "\1A:"}, false, "R:a|C:b");
    row("closed by the template", "deepseek_r1", {"Hi", "\1<|Assistant|></think>"}, false, "C:a</think>b");
    row("goes on in a long reasoning", "qwen3", {"Hi", head, "<think>\n" + long_text}, true, "R:a|C:b");
    row("goes on in a long reasoning of the template's", "qwen3", {"Hi", think, long_text}, true, "R:a|C:b");
    row("goes on behind a long reasoning", "qwen3", {"Hi", head, "<think>" + long_text + "</think>" + long_text}, true,
        "C:a</think>b");
    row("goes on behind a reasoning of the template's", "qwen3", {"Hi", think, long_text, "\1</think>", "So"}, true,
        "C:a</think>b");
    row("goes on, the user asked", "qwen3", {"What does <think> mean?", head, "It"}, true, "C:a</think>b");
  }
  void the_template_says_where_the_answer_begins() {
    QFETCH(QString, format);
    QFETCH(QStringList, spans);
    QFETCH(bool, goes_on);
    QFETCH(QString, expected);
    std::vector<TextSpan> prompt;
    for (const QString& span : spans) {
      const bool is_own = span.startsWith('\1');
      prompt.push_back({span.mid(is_own ? 1 : 0).toStdString(), is_own});
    }
    const AnswerCase given{{"", format.toStdString()}, Json::array(), prompt_end(prompt, goes_on), {}, {}, false, goes_on};
    QCOMPARE(QString::fromStdString(told_apart(given, "a</think>b")), expected);
  }
  void calls_come_behind_the_reasoning_and_not_in_it() {
    const std::string call = "<tool_call>{\"name\": \"f\"}</tool_call>";
    QCOMPARE(told_apart({{"hermes", "qwen3"}, Json::array(), ""}, "<think>I could " + call + "</think>\n" + call),
             "R:I could " + call + "|T:f {}");
  }
  void every_reasoning_name_makes_a_parser() {
    for (const std::string_view name : reasoning_format_names()) {
      const AnswerCase given{{"", std::string(name)}, Json::array(), ""};
      QVERIFY2(told_apart(given, "x").ends_with(":x"), std::string(name).c_str());
    }
  }
  void harmony_messages_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* text, const char* expected) {
      QTest::newRow(name) << QString(text) << QString(expected);
    };
    row("all",
        "<|channel|>analysis<|message|>Hm…<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"n\": 1}<|call|>",
        "R:Hm…|C:I look.|T:f {\"n\": 1}");
    row("recipient before the channel", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "T:f {}");
    row("recipient in the role", "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>", "T:f {}");
    row("no header", "Just text.", "C:Just text.");
    row("begins like a recipient", " too", "C: too");
    row("ends like a recipient", " t", "C: t");
    row("a built-in tool", "<|channel|>analysis to=browser.search<|message|>{\"q\": 1}<|call|>", "R:{\"q\": 1}");
    row("broken call", "<|channel|>commentary to=functions.f<|message|>{\"n\"<|call|>",
        "C:<|channel|>commentary to=functions.f<|message|>{\"n\"<|call|>");
    row("cut off in a call", "<|channel|>commentary to=functions.f<|message|>{\"n\": \"<|chan", "");
    row("end markers in arguments",
        "<|channel|>commentary to=functions.f<|message|>{\"s\": \"<|call|>\\\"<|end|>\"}<|call|>",
        "T:f {\"s\": \"<|call|>\\\"<|end|>\"}");
    row("markers in code", "<|channel|>final<|message|>`<|end|>`\n```\n<|channel|>x<|message|>\n```\nok<|end|>",
        "C:`<|end|>`\n```\n<|channel|>x<|message|>\n```\nok");
    row("the end in an open string",
        "<|channel|>commentary to=functions.f<|message|>{\"s\": \"x}<|call|><|start|>assistant<|channel|>final<|message|>4",
        "C:<|channel|>commentary to=functions.f<|message|>{\"s\": "
        "\"x}<|call|><|start|>assistant<|channel|>final<|message|>4");
    row("whole, without its end", "<|channel|>commentary to=functions.f<|message|>{}", "T:f {}");
    row("cut off in a header", "<|channel|>final<|message|>4<|end|><|start|>assist", "C:4");
    row("markers in arguments", "<|channel|>commentary to=functions.f<|message|>{\"s\": \"<|message|>\"}<|call|>",
        "T:f {\"s\": \"<|message|>\"}");
  }
  void harmony_messages() {
    QFETCH(QString, text);
    QFETCH(QString, expected);
    const AnswerCase given{{"openai", "openai_gptoss"}, Json::array(), ""};
    QCOMPARE(QString::fromStdString(told_apart(given, text.toStdString())), expected);
    QCOMPARE(QString::fromStdString(cut_that_differs(given, text.toStdString())), QString());
  }
  void half_a_harmony_call_is_dropped_where_the_answer_was_cut() {
    const AnswerCase given{{"openai", "openai_gptoss"}, Json::array(), "", {}, {}, true};
    QCOMPARE(told_apart(given, "<|channel|>commentary to=functions.f<|message|>{\"s\": \"x}<|call|>4"), std::string());
  }
  void a_template_without_telltales_chooses_nothing() {
    const AnswerFormats formats = answer_formats_of("{% for m in messages %}{{ m.content }}{% endfor %}");
    QCOMPARE(formats.tool_calls, std::string());
    QCOMPARE(formats.reasoning, std::string());
  }
  void templates_choose_their_formats_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("tool_calls");
    QTest::addColumn<QString>("reasoning");
    const auto row = [](const char* file, const char* tool_calls, const char* reasoning) {
      QTest::newRow(file) << QString(file) << QString(tool_calls) << QString(reasoning);
    };
    row("GLM-4.6", "glm45", "glm45");
    row("HuggingFaceTB-SmolLM3-3B", "", "qwen3");
    row("Kimi-K2-Instruct", "kimi_k2", "");
    row("MiniMax-M2", "minimax_m2", "minimax_m2");
    row("Mistral-Small-3.2-24B-Instruct-2506", "mistral", "");
    row("NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "hermes", "");
    row("Qwen-Qwen2.5-7B-Instruct", "hermes", "");
    row("Qwen-Qwen3-0.6B", "hermes", "qwen3");
    row("Qwen3-Coder", "qwen3_coder", "");
    row("Qwen3.5-4B", "qwen3_coder", "qwen3");
    row("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek_v3", "deepseek_r1");
    row("deepseek-ai-DeepSeek-V3.1", "deepseek_v3", "deepseek_r1");
    row("google-gemma-2-2b-it", "", "");
    row("google-gemma-4-31B-it", "gemma4", "gemma4");
    row("ibm-granite-granite-3.3-2B-Instruct", "granite", "granite");
    row("meta-llama-Llama-3.1-8B-Instruct", "llama3_json", "");
    row("meta-llama-Llama-3.2-3B-Instruct", "llama3_json", "");
    row("meta-llama-Llama-3.3-70B-Instruct", "llama3_json", "");
    row("microsoft-Phi-3.5-mini-instruct", "", "");
    row("mistralai-Mistral-Nemo-Instruct-2407", "mistral", "");
    row("openai-gpt-oss-120b", "openai", "openai_gptoss");
  }
  void templates_choose_their_formats() {
    QFETCH(QString, file);
    QFETCH(QString, tool_calls);
    QFETCH(QString, reasoning);
    const std::string path = "data/templates/" + file.toStdString() + ".jinja";
    SKIP_WITHOUT_SHARED(path);
    const AnswerFormats formats = answer_formats_of(*read_text_file(shared_path(path), 1 << 20));
    QCOMPARE(QString::fromStdString(formats.tool_calls), tool_calls);
    QCOMPARE(QString::fromStdString(formats.reasoning), reasoning);
  }
};

LATHE_TEST(ReasoningTest)

}  // namespace reasoning_test
#include "reasoning_test.moc"
