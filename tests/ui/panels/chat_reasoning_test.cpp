// SPDX-License-Identifier: GPL-3.0-or-later
// The Chat page with a model that reasons: the reasoning is apart, folded, and no part of the assistant's words.
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/chat/reasoning_fold.h"
#include "ui/panels/chat/transcript.h"

namespace chat_reasoning_test {

using namespace lathe;
using namespace lathe::tests;

class ChatReasoningTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    FakeLoad load;
    load.model.answer_formats.reasoning = "qwen3";
    fixture = std::make_unique<WindowFixture>(load);
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("<think>The user asks.\nI answer.</think>\n\nPaged attention keeps blocks.");
  }
  void cleanup() { fixture.reset(); }

  void it_is_folded_above_the_answer() {
    fixture->say("What is paging?");
    QVERIFY(fixture->wait_reply());
    QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
    auto* fold = fixture->find<ui::ReasoningFold>("message.reasoning");
    QVERIFY(fold != nullptr && !fold->isHidden() && !fold->is_open());
    QCOMPARE(fold->reasoning(), QString("The user asks.\nI answer."));
    QTRY_COMPARE(fixture->find<QLabel>("message.reasoning.fact")->text(), QString("5 words"));
    const int height = fold->height();
    fixture->click("message.reasoning.heading");
    QVERIFY(fold->is_open());
    QTRY_VERIFY(fold->height() > height);
  }
  void it_is_not_in_the_next_prompt() {
    fixture->say("What is paging?");
    QVERIFY(fixture->wait_reply());
    fixture->say("And then?");
    QVERIFY(fixture->wait_reply());
    const auto ids = fixture->engine()->submitted().back().prompt_token_ids;
    const std::string prompt = fixture->engine()->tokenizer().decode(ids, false);
    QVERIFY(prompt.find("keeps blocks") != std::string::npos);
    QVERIFY(prompt.find("I answer") == std::string::npos);
    QCOMPARE(QString::fromStdString(fixture->chat().turns().at(1).reasoning), QString("The user asks.\nI answer."));
  }
  void it_is_kept_with_the_chat() {
    fixture->say("What is paging?");
    QVERIFY(fixture->wait_reply());
    const std::int64_t chat = fixture->chat().id();
    fixture->chat().start_new();
    QVERIFY(fixture->chat().open(chat));
    QTRY_VERIFY(fixture->find<ui::ReasoningFold>("message.reasoning") != nullptr);
    QCOMPARE(fixture->find<ui::ReasoningFold>("message.reasoning")->reasoning(), QString("The user asks.\nI answer."));
  }
  void a_reply_that_ended_within_it_stays_a_turn_and_a_version() {
    fixture->engine()->answer_with("<think>The user asks and I");
    fixture->say("What is paging?");
    QVERIFY(fixture->wait_reply());
    QCOMPARE(fixture->text_of(1), QString());
    const auto turns = fixture->chat().turns();
    QCOMPARE(turns.size(), std::size_t{2});
    QCOMPARE(turns[1].role, std::string("assistant"));
    QCOMPARE(turns[1].reasoning, std::string("The user asks and I"));
    fixture->engine()->answer_with("Blocks.");
    fixture->trigger("chat.continue");
    QVERIFY(fixture->wait_reply());
    QVERIFY(!fixture->engine()->submitted().back().prompt_token_ids.empty());
    QCOMPARE(fixture->text_of(1), QString("Blocks."));
    QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
    fixture->trigger("chat.previous_version");
    QCOMPARE(fixture->find<ui::ReasoningFold>("message.reasoning")->reasoning(), QString("The user asks and I"));
  }
  void an_answer_without_it_has_no_fold() {
    fixture->engine()->answer_with("Blocks.");
    fixture->say("What is paging?");
    QVERIFY(fixture->wait_reply());
    QVERIFY(fixture->find<ui::ReasoningFold>("message.reasoning") == nullptr);
  }

 private:
  std::unique_ptr<WindowFixture> fixture;
};

LATHE_WINDOW_TEST(ChatReasoningTest)

}  // namespace chat_reasoning_test
#include "chat_reasoning_test.moc"
