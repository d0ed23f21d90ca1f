// SPDX-License-Identifier: GPL-3.0-or-later
// The Chat page in the real window, over a fake engine.
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSignalSpy>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/chat/transcript.h"
#include "ui/widgets/context_meter.h"

namespace chat_test {

using namespace lathe;
using namespace lathe::tests;

class ChatTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>();
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Paged attention keeps blocks.");
  }
  void cleanup() { fixture.reset(); }

  void a_question_gets_a_reply();
  void enter_sends_and_shift_enter_makes_a_line();
  void send_is_off_without_a_model();
  void nothing_is_sent_after_a_reply_without_a_text();
  void stop_reaches_the_engine_and_keeps_the_text();
  void the_stop_button_and_esc_stop_the_reply_data();
  void the_stop_button_and_esc_stop_the_reply();
  void stop_before_the_first_token_leaves_an_empty_reply();
  void regenerate_keeps_the_old_version();
  void versions_can_be_stepped_through();
  void continue_goes_on_behind_the_text();
  void edit_and_send_regenerates();
  void an_edited_message_is_what_the_engine_gets();
  void a_message_can_be_inserted_without_a_reply();
  void system_prompts_stay_where_they_were_added();
  void a_deleted_message_is_gone_from_the_history();
  void an_error_keeps_the_partial_text_and_offers_retry();
  void retry_after_an_error_writes_a_new_version();
  void a_refused_request_is_told_in_the_chat();
  void a_stall_shows_the_phase();
  void a_stall_in_mid_answer_leaves_the_window_usable();
  void out_of_memory_in_mid_answer_keeps_the_text();
  void the_footer_has_the_numbers();
  void why_asks_for_the_request();
  void a_sampling_change_reaches_the_next_request();
  void greedy_is_temperature_zero();
  void a_branch_has_the_messages_up_to_it();
  void a_chat_survives_the_window();
  void text_of_a_running_reply_is_kept_within_a_second();
  void closing_keeps_the_partial_text();
  void a_long_chat_makes_few_widgets();
  void the_meter_counts_the_chat();

 private:
  std::unique_ptr<WindowFixture> fixture;
};

void ChatTest::a_question_gets_a_reply() {
  fixture->say("What is paging?");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->text_of(0), QString("What is paging?"));
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QCOMPARE(fixture->chat().title(), QString("What is paging?"));
  QVERIFY(fixture->find<QPlainTextEdit>("composer.field")->toPlainText().isEmpty());
}

void ChatTest::enter_sends_and_shift_enter_makes_a_line() {
  auto* field = fixture->find<QPlainTextEdit>("composer.field");
  QTest::keyClicks(field, "one");
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  QTest::keyClicks(field, "two");
  QCOMPARE(field->toPlainText(), QString("one\ntwo"));
  QTest::keyClick(field, Qt::Key_Return);
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(0), QString("one\ntwo"));
}

void ChatTest::send_is_off_without_a_model() {
  fixture->trigger("model.unload");
  QTRY_VERIFY(!fixture->enabled("chat.send"));
  fixture->type("hello");
  QVERIFY(!fixture->find<QAbstractButton>("composer.send")->isEnabled());
}

void ChatTest::nothing_is_sent_after_a_reply_without_a_text() {
  fixture->say("What is paging?");
  QVERIFY(fixture->wait_reply());
  QTRY_VERIFY(!fixture->find<QAbstractButton>("composer.send")->isEnabled());
  fixture->trigger("chat.send");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  // A question that stands there unanswered is.
  QVERIFY(fixture->chat().insert("user", "And now?") != 0);
  QTRY_VERIFY(fixture->find<QAbstractButton>("composer.send")->isEnabled());
  fixture->trigger("chat.send");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{4});
}

void ChatTest::stop_reaches_the_engine_and_keeps_the_text() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  fixture->trigger("chat.stop");
  QVERIFY(fixture->wait_reply());
  QTRY_COMPARE(fixture->engine()->n_active(), 0);
  QCOMPARE(fixture->engine()->n_cancelled(), std::uint64_t{1});
  QCOMPARE(fixture->text_of(1), QString("Paged"));
  QVERIFY(fixture->chat().messages()[1].partial);
}

void ChatTest::the_stop_button_and_esc_stop_the_reply_data() {
  QTest::addColumn<bool>("by_key");
  QTest::newRow("button") << false;
  QTest::newRow("Esc") << true;
}

void ChatTest::the_stop_button_and_esc_stop_the_reply() {
  QFETCH(bool, by_key);
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  fixture->window->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
  if (by_key) QTest::keyClick(fixture->find<QPlainTextEdit>("composer.field"), Qt::Key_Escape);
  else fixture->click("composer.stop");
  QVERIFY(fixture->wait_reply());
  QTRY_COMPARE(fixture->engine()->n_active(), 0);
  QCOMPARE(fixture->text_of(1), QString("Paged"));
  QVERIFY(fixture->chat().messages()[1].partial);
  QVERIFY(fixture->find<QAbstractButton>("composer.send")->isVisible());
  QVERIFY(!fixture->find<QAbstractButton>("composer.stop")->isVisible());
}

void ChatTest::stop_before_the_first_token_leaves_an_empty_reply() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->writer().running());
  fixture->trigger("chat.stop");
  QVERIFY(fixture->wait_reply());
  QVERIFY(fixture->text_of(1).isEmpty());
  QTRY_COMPARE(fixture->engine()->n_active(), 0);
}

void ChatTest::regenerate_keeps_the_old_version() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->answer_with("Another answer");
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
  QCOMPARE(fixture->text_of_version(1, 0), QString("Paged attention keeps blocks."));
  QCOMPARE(fixture->text_of_version(1, 1), QString("Another answer"));
  QCOMPARE(fixture->text_of(1), QString("Another answer"));
}

void ChatTest::versions_can_be_stepped_through() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->answer_with("Another answer");
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->wait_reply());
  fixture->trigger("chat.previous_version");
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  ui::MessageWidget* widget = transcript->widget(fixture->chat().messages()[1].id);
  QVERIFY(widget != nullptr);
  QTRY_COMPARE(widget->shown_text().trimmed(), QString("Paged attention keeps blocks."));
  QCOMPARE(widget->findChild<QLabel*>("message.version")->text(), QString("1 / 2"));
  fixture->trigger("chat.next_version");
  QCOMPARE(fixture->text_of(1), QString("Another answer"));
}

void ChatTest::continue_goes_on_behind_the_text() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->answer_with(" And more.");
  fixture->trigger("chat.continue");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks. And more."));
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{1});
}

void ChatTest::edit_and_send_regenerates() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  transcript->start_editing(fixture->chat().messages()[0].id);
  auto* editor = transcript->findChild<QPlainTextEdit*>("message.editor");
  QVERIFY(editor != nullptr);
  editor->setPlainText("Tell me more");
  QTest::mouseClick(transcript->findChild<QAbstractButton*>("message.save_and_send"), Qt::LeftButton);
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(0), QString("Tell me more"));
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->versions_of(0).size(), std::size_t{2});
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{1});
}

void ChatTest::an_edited_message_is_what_the_engine_gets() {
  fixture->say("first words");
  QVERIFY(fixture->wait_reply());
  fixture->chat().edit(fixture->chat().messages()[1].id, "an edited reply");
  fixture->say("next");
  QVERIFY(fixture->wait_reply());
  const engine::GenerateRequest last = fixture->engine()->submitted().back();
  const std::string prompt = fixture->engine()->tokenizer().decode(last.prompt_token_ids, false);
  QVERIFY(prompt.find("an edited reply") != std::string::npos);
  QVERIFY(prompt.find("keeps blocks") == std::string::npos);
}

void ChatTest::a_message_can_be_inserted_without_a_reply() {
  fixture->trigger("chat.cycle_role");
  fixture->type("I am the assistant");
  fixture->trigger("chat.insert");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{1});
  QCOMPARE(fixture->chat().messages()[0].role, std::string("assistant"));
  QVERIFY(!fixture->writer().running());
  QVERIFY(fixture->engine()->submitted().empty());
}

void ChatTest::system_prompts_stay_where_they_were_added() {
  fixture->say("hello");
  QVERIFY(fixture->wait_reply());
  fixture->trigger("chat.cycle_role");
  fixture->trigger("chat.cycle_role");
  fixture->type("Answer briefly.");
  fixture->trigger("chat.insert");
  // The composer adds it where the chat ends.
  QCOMPARE(fixture->chat().messages()[2].role, std::string("system"));
  QVERIFY(!fixture->find<QWidget>("system_card")->isVisible());
  QVERIFY(fixture->chat().insert_first("system", "Answer in verse.") != 0);
  QCOMPARE(fixture->chat().messages()[0].role, std::string("system"));
  QCOMPARE(fixture->chat().messages().size(), std::size_t{4});
  QVERIFY(fixture->find<QWidget>("system_card")->isVisible());
  QVERIFY(fixture->find<ui::Transcript>("transcript")->widget(fixture->chat().messages()[0].id) == nullptr);
}

void ChatTest::a_deleted_message_is_gone_from_the_history() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->trigger("chat.delete");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{1});
  QVERIFY(fixture->workbench->history().messages(fixture->chat().id())->back().deleted);
}

void ChatTest::an_error_keeps_the_partial_text_and_offers_retry() {
  fixture->engine()->fail_after(4, engine::Error{engine::ErrorCode::internal, "the step failed", "step"});
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Page"));
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  QTRY_VERIFY(transcript->findChild<ui::InlineMessage*>("message.error") != nullptr);
  QVERIFY(transcript->findChild<ui::InlineMessage*>("message.error")->numbers().contains("the step failed"));
  QVERIFY(transcript->findChild<QAbstractButton*>("message.error.retry") != nullptr);
  QVERIFY(transcript->findChild<QAbstractButton*>("message.error.continue") != nullptr);
}

void ChatTest::retry_after_an_error_writes_a_new_version() {
  fixture->engine()->fail_after(4, engine::Error{engine::ErrorCode::internal, "the step failed", "step"});
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  fixture->engine()->fail_after(1000, engine::Error{});
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  QTRY_VERIFY(transcript->findChild<QAbstractButton*>("message.error.retry") != nullptr);
  QTest::mouseClick(transcript->findChild<QAbstractButton*>("message.error.retry"), Qt::LeftButton);
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
}

void ChatTest::a_refused_request_is_told_in_the_chat() {
  fixture->engine()->refuse_submits(
      engine::Error{engine::ErrorCode::resource_exhausted, "1024 requests wait; 1024 at most", "queue"});
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  QTRY_VERIFY(transcript->findChild<ui::InlineMessage*>("message.error") != nullptr);
  QVERIFY(transcript->findChild<ui::InlineMessage*>("message.error")->numbers().contains("1024"));
}

void ChatTest::a_stall_shows_the_phase() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  ui::MessageWidget* widget = transcript->widget(fixture->writer().message());
  QVERIFY(widget != nullptr);
  QTRY_VERIFY(widget->footer_text().startsWith("Queued") || widget->footer_text().startsWith("Reading"));
  fixture->engine()->step(3);
  QTRY_VERIFY(widget->footer_text().startsWith("Writing"));
  QVERIFY(fixture->find<QAbstractButton>("composer.stop")->isVisible());
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
  QVERIFY(fixture->find<QAbstractButton>("composer.send")->isVisible());
}

void ChatTest::a_stall_in_mid_answer_leaves_the_window_usable() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  // From here on the engine says nothing; everything else goes on.
  auto* field = fixture->find<QPlainTextEdit>("composer.field");
  QTest::keyClicks(field, "my next question");
  QCOMPARE(field->toPlainText(), QString("my next question"));
  fixture->trigger("page.serve");
  QCOMPARE(fixture->window->page(), QString("serve"));
  fixture->trigger("page.chat");
  fixture->trigger("settings.theme_dark");
  QVERIFY(fixture->theme->dark());
  fixture->trigger("settings.theme_light");
  QVERIFY(fixture->find<QAbstractButton>("composer.stop")->isVisible());
  fixture->click("composer.stop");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged"));
  QCOMPARE(field->toPlainText(), QString("my next question"));
  fixture->engine()->resume();
  fixture->click("composer.send");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(3), QString("Paged attention keeps blocks."));
}

void ChatTest::out_of_memory_in_mid_answer_keeps_the_text() {
  fixture->engine()->fail_after(
      5, engine::Error{engine::ErrorCode::resource_exhausted, "the KV cache is full: needs 12 blocks, 3 free", "kv"});
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged"));
  QVERIFY(fixture->chat().messages()[1].partial);
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  QTRY_VERIFY(transcript->findChild<ui::InlineMessage*>("message.error") != nullptr);
  QVERIFY(transcript->findChild<ui::InlineMessage*>("message.error")->numbers().contains("needs 12 blocks, 3 free"));
  fixture->engine()->fail_after(1000, engine::Error{});
  fixture->say("And now?");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(3), QString("Paged attention keeps blocks."));
  QVERIFY(!fixture->chat().messages()[3].partial);
}

void ChatTest::the_footer_has_the_numbers() {
  fixture->engine()->set_cached_tokens(3);
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  auto* transcript = fixture->find<ui::Transcript>("transcript");
  const QString words = transcript->widget(fixture->chat().messages()[1].id)->footer_text();
  QVERIFY2(words.contains("tok") && words.contains("(3 cached)") && words.contains("stop:"), qPrintable(words));
}

void ChatTest::why_asks_for_the_request() {
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  QSignalSpy asked(&fixture->window->context().navigator, &ui::Navigator::inspect_request);
  auto* why = fixture->find<ui::Transcript>("transcript")
                  ->widget(fixture->chat().messages()[1].id)
                  ->findChild<QAbstractButton*>("message.why");
  QTRY_VERIFY(why->isVisible());
  QTest::mouseClick(why, Qt::LeftButton);
  QCOMPARE(asked.count(), 1);
  QVERIFY(fixture->workbench->requests().record(asked[0][0].toULongLong()).has_value());
}

void ChatTest::a_sampling_change_reaches_the_next_request() {
  auto* spin = fixture->find<QDoubleSpinBox>("sampling.temperature.spin");
  QVERIFY(spin != nullptr);
  spin->setValue(1.25);
  fixture->find<QDoubleSpinBox>("sampling.max_tokens.spin")->setValue(77);
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  const engine::SamplingParams sampling = fixture->engine()->submitted().back().sampling;
  QCOMPARE(sampling.temperature, 1.25);
  QCOMPARE(sampling.max_tokens, std::int64_t{77});
  QCOMPARE(sampling.top_k, std::int64_t{40});
}

void ChatTest::greedy_is_temperature_zero() {
  fixture->window->context().sampling.choose_preset("Greedy");
  fixture->say("Tell me");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->engine()->submitted().back().sampling.temperature, 0.0);
}

void ChatTest::a_branch_has_the_messages_up_to_it() {
  fixture->say("one");
  QVERIFY(fixture->wait_reply());
  fixture->say("two");
  QVERIFY(fixture->wait_reply());
  const std::int64_t before = fixture->chat().id();
  fixture->chat().branch(fixture->chat().messages()[1].id);
  QTRY_VERIFY(fixture->chat().id() != before);  // it is opened
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->workbench->history().messages(before)->size(), std::size_t{4});
}

void ChatTest::a_chat_survives_the_window() {
  fixture.reset();
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    QVERIFY(first.load_model());
    first.engine()->answer_with("kept");
    first.say("Remember this");
    QVERIFY(first.wait_reply());
    first.type("half a thought");
  }
  WindowFixture second({}, profile.path());
  QCOMPARE(second.chat().title(), QString("Remember this"));
  QCOMPARE(second.text_of(1), QString("kept"));
  QCOMPARE(second.find<QPlainTextEdit>("composer.field")->toPlainText(), QString("half a thought"));
}

void ChatTest::text_of_a_running_reply_is_kept_within_a_second() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  // The history holds what a kill would leave, for another program to read.
  QTRY_VERIFY(fixture->workbench->history().messages(fixture->chat().id())->back().text == "Paged");
  QVERIFY(fixture->writer().running());
}

void ChatTest::closing_keeps_the_partial_text() {
  fixture->engine()->pause();
  fixture->say("Tell me");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  fixture->window->close();
  QVERIFY(!fixture->writer().running());
  const app::StoredMessage kept = fixture->workbench->history().messages(fixture->chat().id())->back();
  QCOMPARE(kept.text, std::string("Paged"));
  QVERIFY(kept.partial);
}

void ChatTest::a_long_chat_makes_few_widgets() {
  const std::int64_t chat = *fixture->workbench->history().create_chat("long");
  std::vector<app::StoredMessage> messages;
  for (int i = 0; i < 400; ++i)
    messages.push_back(app::new_message(i % 2 == 0 ? "user" : "assistant", "Message number " + std::to_string(i), 0));
  QVERIFY(fixture->workbench->history().add_messages(chat, 0, messages).has_value());
  Q_EMIT fixture->window->context().navigator.open_chat(chat);
  QCOMPARE(fixture->chat().messages().size(), std::size_t{400});
  QTest::qWait(50);
  const qsizetype n = fixture->find<ui::Transcript>("transcript")->findChildren<ui::MessageWidget*>().size();
  QVERIFY2(n > 3 && n < 80, qPrintable(QString::number(n)));
}

void ChatTest::the_meter_counts_the_chat() {
  auto* meter = fixture->find<ui::ContextMeter>("context_meter");
  fixture->say("Tell me something");
  QVERIFY(fixture->wait_reply());
  QTRY_VERIFY2(!meter->words().startsWith("0 used") && meter->words().contains("of 4,096"), qPrintable(meter->words()));
}

LATHE_WINDOW_TEST(ChatTest)

}  // namespace chat_test
#include "chat_test.moc"
