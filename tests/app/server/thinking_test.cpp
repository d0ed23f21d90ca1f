// SPDX-License-Identifier: Apache-2.0
// Switches of thinking in the spellings of several servers: obeyed, refused by name, or warned of.
#include <QtTest>

#include "app/server/generate/template_variables.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace thinking_test {

using namespace lathe;
using engine::Json;
using tests::chat_body;
using tests::HttpReply;

namespace {

constexpr const char* kBegin = "{% for m in messages %}{{ m.content }}{% endfor %}";
constexpr const char* kQwen = "{% if enable_thinking is defined %}[{{ enable_thinking }}]{% endif %}";
constexpr const char* kDeepSeek = "{% if thinking is defined %}[{{ thinking }}]{% endif %}";
constexpr const char* kEffort = "{% if reasoning_effort is defined %}[{{ reasoning_effort }}]{% endif %}";
constexpr const char* kSeed = "{% if thinking_budget is defined %}[{{ thinking_budget }}]{% endif %}";

}  // namespace

class ThinkingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanup() { fixture_.reset(); }

  void switches_reach_the_template_data();
  void switches_reach_the_template();
  void what_cannot_be_switched_off_is_refused_data();
  void what_cannot_be_switched_off_is_refused();
  void wishes_without_effect_are_warned_of_data();
  void wishes_without_effect_are_warned_of();
  void not_to_think_is_nothing_to_ask_of_others_data();
  void not_to_think_is_nothing_to_ask_of_others();
  void contradictions_name_both_data();
  void contradictions_name_both();
  void kwargs_come_first();
  void unknown_kwargs_pass_and_reserved_ones_do_not();
  void reasoning_may_be_left_out();
  void variables_of_a_template_are_found_data();
  void variables_of_a_template_are_found();

 private:
  void load(const std::string& tail, bool thinks) {
    tests::ServerFixture::Options options;
    options.model.chat_template = kBegin + tail;
    if (thinks) options.model.answer_formats.reasoning = "qwen3";
    fixture_ = std::make_unique<tests::ServerFixture>(options);
  }
  HttpReply post(const QByteArray& fields) {
    return tests::HttpClient(fixture_->port())
        .post("/v1/chat/completions", chat_body("Hi", Json::parse(fields.toStdString())));
  }
  std::string prompt() {
    return fixture_->engine().tokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ThinkingTest::switches_reach_the_template_data() {
  QTest::addColumn<QByteArray>("tail");
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("prompt");
  const auto rows = [](const char* name, const char* tail, std::initializer_list<const char*> off, const char* prompt) {
    for (const char* fields : off)
      QTest::addRow("%s %s", name, fields) << QByteArray(tail) << QByteArray(fields) << QByteArray(prompt);
  };
  const auto off = {R"({"enable_thinking":false})",
                    R"({"thinking":{"type":"disabled"}})",
                    R"({"thinking":false})",
                    R"({"think":false})",
                    R"({"reasoning_effort":"none"})",
                    R"({"reasoning":{"effort":"none"}})",
                    R"({"reasoning":{"enabled":false}})",
                    R"({"enable_thinking":false,"think":false,"reasoning_effort":"none"})"};
  const auto on = {R"({"enable_thinking":true})",
                   R"({"thinking":{"type":"enabled"}})",
                   R"({"thinking":true})",
                   R"({"think":true})",
                   R"({"reasoning":{"enabled":true}})",
                   R"({"think":true,"thinking":{"type":"adaptive"}})"};
  rows("qwen", kQwen, off, "Hi[False]");
  rows("qwen", kQwen, on, "Hi[True]");
  rows("deepseek", kDeepSeek, off, "Hi[False]");
  rows("deepseek", kDeepSeek, on, "Hi[True]");
  rows("none", kQwen, {R"({})", R"({"thinking":{"type":"auto"}})", R"({"think":null})", R"({"reasoning":{}})"}, "Hi");
  rows("effort", kEffort, {R"({"reasoning_effort":"low"})", R"({"think":"low"})", R"({"reasoning":{"effort":"low"}})"},
       "Hi[low]");
  rows("budget", kSeed, {R"({"thinking":{"type":"enabled","budget_tokens":512}})", R"({"reasoning":{"max_tokens":512}})"},
       "Hi[512]");
}

void ThinkingTest::switches_reach_the_template() {
  QFETCH(QByteArray, tail);
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, prompt);
  load(tail.toStdString(), true);
  const HttpReply reply = post(fields);
  QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
  QCOMPARE(this->prompt(), prompt.toStdString());
}

void ThinkingTest::what_cannot_be_switched_off_is_refused_data() {
  QTest::addColumn<QByteArray>("param");
  QTest::newRow(R"({"enable_thinking":false})") << QByteArray("enable_thinking");
  QTest::newRow(R"({"thinking":{"type":"disabled"}})") << QByteArray("thinking");
  QTest::newRow(R"({"think":false})") << QByteArray("think");
  QTest::newRow(R"({"reasoning_effort":"none"})") << QByteArray("reasoning_effort");
  QTest::newRow(R"({"reasoning":{"enabled":false}})") << QByteArray("reasoning.enabled");
}

void ThinkingTest::what_cannot_be_switched_off_is_refused() {
  QFETCH(QByteArray, param);
  load(" thinking enable_thinking {# thinking #}{{ messages[0].thinking }}{{ 'thinking' }}", true);
  const HttpReply reply = post(QTest::currentDataTag());
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"].get<std::string>(), param.toStdString());
}

void ThinkingTest::wishes_without_effect_are_warned_of_data() {
  QTest::addColumn<QByteArray>("tail");
  QTest::addColumn<bool>("thinks");
  QTest::addColumn<QByteArray>("warned");
  const auto row = [](const char* fields, const char* tail, bool thinks, const char* warned) {
    QTest::newRow(fields) << QByteArray(tail) << thinks << QByteArray(warned);
  };
  row(R"({"enable_thinking":true})", "", false, "enable_thinking");
  row(R"({"think":true})", "", false, "think");
  row(R"({"reasoning_effort":"high"})", kQwen, true, "reasoning_effort");
  row(R"({"think":"high"})", "", false, "think");
  row(R"({"reasoning":{"effort":"high"}})", kQwen, true, "reasoning.effort");
  row(R"({"thinking":{"type":"enabled","budget_tokens":512}})", kQwen, true, "thinking.budget_tokens");
  row(R"({"reasoning":{"enabled":true,"summary":"auto"}})", kQwen, true, "reasoning.summary");
}

void ThinkingTest::wishes_without_effect_are_warned_of() {
  QFETCH(QByteArray, tail);
  QFETCH(bool, thinks);
  QFETCH(QByteArray, warned);
  load(tail.toStdString(), thinks);
  const HttpReply reply = post(QTest::currentDataTag());
  QVERIFY2(reply.status == 200, reply.body.c_str());
  const Json warnings = reply.json()["warnings"];
  QCOMPARE(warnings.size(), std::size_t(1));
  QCOMPARE(warnings[0]["param"].get<std::string>(), warned.toStdString());
}

void ThinkingTest::not_to_think_is_nothing_to_ask_of_others_data() {
  QTest::addColumn<QByteArray>("fields");
  for (const char* fields : {R"({"enable_thinking":false})", R"({"thinking":{"type":"disabled"}})", R"({"think":false})",
                             R"({"reasoning_effort":"none"})", R"({"chat_template_kwargs":{"enable_thinking":false}})",
                             R"({"chat_template_kwargs":{"thinking":false}})"})
    QTest::newRow(fields) << QByteArray(fields);
}

void ThinkingTest::not_to_think_is_nothing_to_ask_of_others() {
  QFETCH(QByteArray, fields);
  load("", false);
  const HttpReply reply = post(fields);
  QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
}

void ThinkingTest::contradictions_name_both_data() {
  QTest::addColumn<QByteArray>("first");
  QTest::addColumn<QByteArray>("second");
  const auto row = [](const char* fields, const char* first, const char* second) {
    QTest::newRow(fields) << QByteArray(first) << QByteArray(second);
  };
  row(R"({"enable_thinking":true,"thinking":{"type":"disabled"}})", "enable_thinking", "thinking");
  row(R"({"think":false,"reasoning_effort":"high"})", "think", "reasoning_effort");
  row(R"({"think":"low","reasoning_effort":"high"})", "think", "reasoning_effort");
  row(R"({"reasoning":{"effort":"low","enabled":false}})", "reasoning.enabled", "reasoning.effort");
}

void ThinkingTest::contradictions_name_both() {
  QFETCH(QByteArray, first);
  QFETCH(QByteArray, second);
  load(kQwen, true);
  const HttpReply reply = post(QTest::currentDataTag());
  QCOMPARE(reply.status, 400);
  VERIFY_HAS(reply.body, first.toStdString());
  QCOMPARE(reply.json()["error"]["param"].get<std::string>(), second.toStdString());
}

void ThinkingTest::kwargs_come_first() {
  load(kQwen, true);
  QCOMPARE(post(R"({"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true}})").status, 200);
  QCOMPARE(prompt(), std::string("Hi[True]"));
}

void ThinkingTest::unknown_kwargs_pass_and_reserved_ones_do_not() {
  load(kQwen, true);
  const HttpReply reply = post(R"({"chat_template_kwargs":{"custom":1,"enable_thinking":false}})");
  QCOMPARE(reply.status, 200);
  QCOMPARE(prompt(), std::string("Hi[False]"));
  QCOMPARE(reply.json()["warnings"].size(), std::size_t(1));
  QCOMPARE(reply.json()["warnings"][0]["param"], "chat_template_kwargs.custom");
  for (const char* name :
       {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "chat_template", "tokenize"}) {
    const HttpReply refused = post(QByteArray("{\"chat_template_kwargs\":{\"") + name + "\":1}}");
    QCOMPARE(refused.status, 400);
    VERIFY_HAS(refused.body, std::string("chat_template_kwargs.") + name);
  }
}

void ThinkingTest::reasoning_may_be_left_out() {
  load(kQwen, true);
  fixture_->engine().answer_with("<think>secret</think>open");
  const Json message = post(R"({"reasoning":{"exclude":true}})").json()["choices"][0]["message"];
  QCOMPARE(message["content"], "open");
  QVERIFY(message["reasoning"].is_null());
}

void ThinkingTest::variables_of_a_template_are_found_data() {
  QTest::addColumn<bool>("found");
  QTest::newRow("{{ thinking }}") << true;
  QTest::newRow("{%- if not thinking is defined -%}") << true;
  QTest::newRow("{% set x = '\\'' ~ thinking %}") << true;
  QTest::newRow("{{ f(a, thinking) }}") << true;
  QTest::newRow("{{ '%}' }}{{ thinking }}") << true;
  QTest::newRow("thinking") << false;
  QTest::newRow("{ thinking }") << false;
  QTest::newRow("{# thinking #}") << false;
  QTest::newRow("{{ message.thinking }}") << false;
  QTest::newRow("{{ message . thinking }}") << false;
  QTest::newRow("{{ message['thinking'] }}") << false;
  QTest::newRow("{{ enable_thinking ~ thinking_budget }}") << false;
  QTest::newRow("{{ \"a\\\"thinking\" }}") << false;
  QTest::newRow("{{ 'thinking") << false;
  QTest::newRow("{%") << false;
  QTest::newRow("{#") << false;
}

void ThinkingTest::variables_of_a_template_are_found() {
  QFETCH(bool, found);
  QCOMPARE(app::reads_variable(QTest::currentDataTag(), "thinking"), found);
}

LATHE_TEST(ThinkingTest)

}  // namespace thinking_test
#include "thinking_test.moc"
