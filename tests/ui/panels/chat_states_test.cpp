// SPDX-License-Identifier: GPL-3.0-or-later
// The Chat page where something is in the way: an editor is open, a reply was stopped or cut off, the model cannot chat.
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/chat/transcript.h"
#include "ui/widgets/context_meter.h"

namespace chat_states_test {

using namespace lathe;
using namespace lathe::tests;

class ChatStatesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>();
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Paged attention keeps blocks.");
    fixture->window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
  }
  void cleanup() { fixture.reset(); }

  void ctrl_enter_in_an_edited_question_sends_that_question();
  void ctrl_enter_in_an_edited_reply_saves_it();
  void ctrl_enter_in_the_system_prompt_saves_it();
  void esc_leaves_the_system_prompt_as_it_was();
  void a_stopped_regeneration_without_a_word_shows_what_was_there();
  void a_failed_regeneration_stays_as_a_version();
  void a_window_may_close_before_a_stopped_reply_has_begun();
  void a_reply_that_was_cut_off_says_so_and_goes_on();
  void a_reply_that_was_cut_off_before_its_first_word_is_retried();
  void a_continued_reply_that_is_cut_off_says_so();
  void esc_closes_the_find_bar_and_not_the_reply();
  void a_model_without_a_template_completes_text();
  void a_model_of_vectors_says_so_where_send_is_grey();
  void the_reserve_is_bounded_by_the_context();
  void only_fixes_that_help_are_offered();
  void enter_while_a_reply_is_written_says_why_nothing_is_sent();

 private:
  QPlainTextEdit* edit(std::size_t message, const QString& text) {
    auto* transcript = fixture->find<ui::Transcript>("transcript");
    transcript->start_editing(fixture->chat().messages()[message].id);
    auto* editor = transcript->findChild<QPlainTextEdit*>("message.editor");
    if (editor != nullptr) editor->setPlainText(text);
    return editor;
  }
  QString draft() { return fixture->find<QPlainTextEdit>("composer.field")->toPlainText(); }
  /// A chat as a kill left it, opened.
  void open_cut_off(const std::string& text) {
    app::History& history = fixture->workbench->history();
    const std::int64_t chat = *history.create_chat("cut off");
    app::StoredMessage reply = app::new_message("assistant", text, 0);
    reply.partial = true;
    QVERIFY(history.add_messages(chat, 0, {app::new_message("user", "Tell me", 0), reply}).has_value());
    QVERIFY(fixture->chat().open(chat));
  }
  ui::InlineMessage* told() {
    const auto all = fixture->find<ui::Transcript>("transcript")->findChildren<ui::InlineMessage*>("message.error");
    for (ui::InlineMessage* one : all)
      if (one->isVisible()) return one;
    return nullptr;
  }
  void press(const char* button) {
    auto* found = told()->findChild<QAbstractButton*>(button);
    QVERIFY(found != nullptr);
    QTest::mouseClick(found, Qt::LeftButton);
  }

  std::unique_ptr<WindowFixture> fixture;
};

void ChatStatesTest::ctrl_enter_in_an_edited_question_sends_that_question() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->type("a draft");
  auto* editor = edit(0, "Tell me more");
  QVERIFY(editor != nullptr);
  QTest::keyClick(editor, Qt::Key_Return, Qt::ControlModifier);
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->text_of(0), QString("Tell me more"));
  QCOMPARE(fixture->versions_of(0).size(), std::size_t{2});
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{1});
  QCOMPARE(draft(), QString("a draft"));
}

void ChatStatesTest::ctrl_enter_in_an_edited_reply_saves_it() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->type("a draft");
  auto* editor = edit(1, "My own words");
  QVERIFY(editor != nullptr);
  QTest::keyClick(editor, Qt::Key_Return, Qt::ControlModifier);
  QCOMPARE(fixture->text_of(1), QString("My own words"));
  QVERIFY(!fixture->writer().running());
  QCOMPARE(fixture->engine()->submitted().size(), std::size_t{1});
  QCOMPARE(draft(), QString("a draft"));
}

void ChatStatesTest::ctrl_enter_in_the_system_prompt_saves_it() {
  fixture->chat().insert_first("system", "Be brief.");
  fixture->type("a draft");
  fixture->click("system_card.fold");
  auto* editor = fixture->find<QPlainTextEdit>("system_card.editor");
  editor->setPlainText("Be precise.");
  QTest::keyClick(editor, Qt::Key_Return, Qt::ControlModifier);
  QCOMPARE(fixture->text_of(0), QString("Be precise."));
  QVERIFY(!editor->isVisible());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{1});
  QCOMPARE(draft(), QString("a draft"));
}

void ChatStatesTest::esc_leaves_the_system_prompt_as_it_was() {
  fixture->chat().insert_first("system", "Be brief.");
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->click("system_card.fold");
  auto* editor = fixture->find<QPlainTextEdit>("system_card.editor");
  editor->setPlainText("Be");
  QTest::keyClick(editor, Qt::Key_Escape);
  QVERIFY(!editor->isVisible());
  QCOMPARE(editor->toPlainText(), QString("Be brief."));
  QVERIFY(fixture->writer().running());
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(2), QString("Paged attention keeps blocks."));
}

void ChatStatesTest::a_stopped_regeneration_without_a_word_shows_what_was_there() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->answer_with("Another answer");
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->wait_reply());
  fixture->trigger("chat.previous_version");
  fixture->engine()->pause();
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->engine()->wait_for_active(1));
  QTRY_VERIFY(fixture->writer().stream() != nullptr);
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{3});
  fixture->trigger("chat.stop");
  QVERIFY(fixture->wait_reply());
  const app::StoredMessage& reply = fixture->chat().messages()[1];
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
  QCOMPARE(fixture->versions_of(1)[0], reply.id);
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  auto* widget = fixture->find<ui::Transcript>("transcript")->widget(reply.id);
  QTRY_COMPARE(widget->shown_text().trimmed(), QString("Paged attention keeps blocks."));
  QCOMPARE(widget->findChild<QLabel*>("message.version")->text(), QString("1 / 2"));
}

void ChatStatesTest::a_failed_regeneration_stays_as_a_version() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->fail_after(0, engine::Error{engine::ErrorCode::internal, "the step failed", "step"});
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
  QTRY_VERIFY(told() != nullptr);
  QVERIFY(told()->numbers().contains("the step failed"));
}

/// Its generation comes from the background after everything that it belongs to.
void ChatStatesTest::a_window_may_close_before_a_stopped_reply_has_begun() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  QVERIFY(fixture->writer().stream() == nullptr);  // no event was handled since
  fixture->trigger("chat.stop");
  fixture.reset();
  QCoreApplication::processEvents();
}

void ChatStatesTest::a_reply_that_was_cut_off_says_so_and_goes_on() {
  open_cut_off("Paged");
  QTRY_VERIFY(told() != nullptr);
  QCOMPARE(told()->what(), QString("Interrupted"));
  QVERIFY(told()->findChild<QAbstractButton*>("message.error.retry") == nullptr);
  fixture->engine()->answer_with(" attention.");
  press("message.error.continue");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention."));
  QVERIFY(told() == nullptr);
}

void ChatStatesTest::a_reply_that_was_cut_off_before_its_first_word_is_retried() {
  open_cut_off("");
  QTRY_VERIFY(told() != nullptr);
  QCOMPARE(told()->what(), QString("Interrupted"));
  QVERIFY(told()->findChild<QAbstractButton*>("message.error.continue") == nullptr);
  press("message.error.retry");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{1});
  QVERIFY(told() == nullptr);
}

void ChatStatesTest::a_continued_reply_that_is_cut_off_says_so() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->pause();
  fixture->trigger("chat.continue");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  // The history holds what a kill would leave.
  const auto kept = [this] { return fixture->workbench->history().messages(fixture->chat().id())->back(); };
  QTRY_COMPARE(kept().text, std::string("Paged attention keeps blocks.Paged"));
  QVERIFY(kept().partial && kept().footer_json.empty());
}

void ChatStatesTest::esc_closes_the_find_bar_and_not_the_reply() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->trigger("chat.find");
  auto* field = fixture->find<QLineEdit>("find_bar.field");
  QVERIFY(field->isVisible());
  QTest::keyClick(field, Qt::Key_Escape);
  QVERIFY(!field->isVisible());
  QVERIFY(fixture->writer().running());
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
}

void ChatStatesTest::a_model_without_a_template_completes_text() {
  FakeLoad load;
  load.model.has_chat_template = false;
  fixture = std::make_unique<WindowFixture>(load);
  QVERIFY(fixture->load_model());
  fixture->engine()->answer_with(" and a wolf");
  auto* field = fixture->find<QPlainTextEdit>("composer.field");
  QTRY_VERIFY2(field->placeholderText().contains("no chat template"), qPrintable(field->placeholderText()));
  auto* notice = fixture->find<ui::InlineMessage>("welcome.notice");
  QVERIFY(notice->isVisible());
  QVERIFY2(notice->numbers().contains("/v1/completions"), qPrintable(notice->numbers()));
  QVERIFY(!fixture->find<QWidget>("welcome.sample.kv")->isVisible());
  QVERIFY(fixture->find<QWidget>("composer.mode")->isVisible() && !fixture->find<QWidget>("composer.role")->isVisible());
  fixture->say("There was a girl");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString(" and a wolf"));
  const auto prompt = [this] {
    const engine::GenerateRequest last = fixture->engine()->submitted().back();
    return fixture->engine()->tokenizer().decode(last.prompt_token_ids, false);
  };
  QCOMPARE(prompt(), std::string("<s>There was a girl"));  // BOS, and no mark of a role
  fixture->say(". One day");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(prompt(), std::string("<s>There was a girl and a wolf. One day"));
  fixture->trigger("chat.continue");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(prompt(), std::string("<s>There was a girl and a wolf. One day and a wolf"));
}

void ChatStatesTest::a_model_of_vectors_says_so_where_send_is_grey() {
  FakeLoad load;
  load.model.has_chat_template = false;
  load.model.generates = false;
  fixture = std::make_unique<WindowFixture>(load);
  QVERIFY(fixture->load_model());
  fixture->type("hello");
  QTRY_VERIFY2(fixture->find<QLabel>("composer.reason")->text().contains("vectors"),
               qPrintable(fixture->find<QLabel>("composer.reason")->text()));
  QVERIFY(!fixture->find<QAbstractButton>("composer.send")->isEnabled());
  QVERIFY(!fixture->enabled("chat.send"));
  fixture->click("welcome.notice.serve");
  QCOMPARE(fixture->window->page(), QString("serve"));
}

/// Max tokens may be larger than the context: a chat that fits is not called too long for it.
void ChatStatesTest::the_reserve_is_bounded_by_the_context() {
  auto* meter = fixture->find<ui::ContextMeter>("context_meter");
  fixture->find<QDoubleSpinBox>("sampling.max_tokens.spin")->setValue(4000);
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  QTRY_VERIFY2(meter->words().contains("512 reserved"), qPrintable(meter->words()));
  QVERIFY(!meter->over());
}

void ChatStatesTest::only_fixes_that_help_are_offered() {
  const auto offered = [this](const char* name) {
    auto* button = fixture->find<QAbstractButton>(name);
    return button != nullptr && button->isVisible();
  };
  // One message that is longer than the context: neither deletion nor a short reply makes room.
  QVERIFY(fixture->chat().insert("user", QString(6000, 'x')) != 0);
  auto* overflow = fixture->find<ui::InlineMessage>("chat.overflow");
  QTRY_VERIFY(overflow->isVisible());
  QVERIFY(!offered("chat.overflow.drop") && !offered("chat.overflow.shorter"));
  // Behind it there is something that may stay.
  QVERIFY(fixture->chat().insert("assistant", "Long.") != 0 && fixture->chat().insert("user", "And now?") != 0);
  QTRY_VERIFY(offered("chat.overflow.drop"));
  QCOMPARE(fixture->find<QAbstractButton>("chat.overflow.drop")->text(), QString("Delete the oldest 2 messages"));
  fixture->click("chat.overflow.drop");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{1});
  QTRY_VERIFY(!overflow->isVisible());
  fixture->trigger("edit.undo");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
}

void ChatStatesTest::enter_while_a_reply_is_written_says_why_nothing_is_sent() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->type("next");
  QTest::keyClick(fixture->find<QPlainTextEdit>("composer.field"), Qt::Key_Return);
  auto* notice = fixture->find<ui::InlineMessage>("composer.notice");
  QVERIFY(notice != nullptr && notice->isVisible());
  QVERIFY2(notice->what().contains("being written"), qPrintable(notice->what()));
  QCOMPARE(draft(), QString("next"));
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
}

LATHE_WINDOW_TEST(ChatStatesTest)

}  // namespace chat_states_test
#include "chat_states_test.moc"
