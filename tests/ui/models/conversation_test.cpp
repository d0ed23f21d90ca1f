// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/conversation.h"

#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <thread>

#include "tests/support/test_class.h"
#include "ui/models/reply_writer.h"

namespace conversation_test {

using namespace lathe;

namespace {

/// A history whose disk may be full.
class FullHistory final : public app::History {
 public:
  explicit FullHistory(std::unique_ptr<app::History> inner) : inner_(std::move(inner)) {}
  std::atomic<bool> full = false;
  std::atomic<std::thread::id> updated_on;

  std::vector<app::ChatSummary> chats() const override { return inner_->chats(); }
  std::vector<app::ChatSummary> search(const std::string& words) const override { return inner_->search(words); }
  engine::Result<std::int64_t> create_chat(const std::string& title) override { return inner_->create_chat(title); }
  engine::Result<void> rename_chat(std::int64_t chat, const std::string& title) override {
    return inner_->rename_chat(chat, title);
  }
  engine::Result<void> delete_chat(std::int64_t chat) override { return inner_->delete_chat(chat); }
  engine::Result<std::vector<app::StoredMessage>> messages(std::int64_t chat) const override {
    return inner_->messages(chat);
  }
  engine::Result<std::int64_t> add_message(std::int64_t chat, const app::StoredMessage& message,
                                           std::int64_t after) override {
    updated_on = std::this_thread::get_id();
    if (full) return engine::fail(engine::ErrorCode::internal, "database or disk is full");
    return inner_->add_message(chat, message, after);
  }
  engine::Result<void> update_message(std::int64_t chat, const app::StoredMessage& message) override {
    updated_on = std::this_thread::get_id();
    if (full) return engine::fail(engine::ErrorCode::internal, "database or disk is full");
    return inner_->update_message(chat, message);
  }
  engine::Result<void> delete_message(std::int64_t chat, std::int64_t message) override {
    return inner_->delete_message(chat, message);
  }
  std::string problem() const override { return inner_->problem(); }

 private:
  std::unique_ptr<app::History> inner_;
};

}  // namespace

class ConversationTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    history = std::make_unique<FullHistory>(std::move(*app::open_history(":memory:")));
    background = std::make_unique<ui::Background>();
    chat = std::make_unique<ui::Conversation>(*history, *background);
  }
  void cleanup() {
    chat.reset();
    background.reset();
    history.reset();
  }

  void an_empty_chat_is_not_kept();
  void the_first_question_names_the_chat();
  void a_long_question_is_cut_at_a_word();
  void messages_are_inserted_at_their_place();
  void empty_replies_are_no_turns();
  void turns_end_where_asked();
  void versions_are_kept();
  void an_empty_version_can_be_dropped();
  void growing_text_is_kept_within_a_second();
  void flush_keeps_at_once();
  void the_last_text_wins_over_one_that_is_being_written();
  void edits_are_written_off_the_gui_thread();
  void a_problem_lasts_until_all_is_kept();
  void a_problem_is_gone_after_a_flush_that_keeps_all();
  void a_branch_is_made_off_the_gui_thread();
  void renaming_is_kept();
  void an_edit_takes_the_footer_away();
  void opening_what_is_gone_fails();
  void a_footer_survives_its_json();
  void a_broken_footer_is_an_empty_one();

 private:
  app::MessageVersion kept(std::size_t message) { return history->messages(chat->id())->at(message).versions.back(); }

  std::unique_ptr<FullHistory> history;
  std::unique_ptr<ui::Background> background;
  std::unique_ptr<ui::Conversation> chat;
};

void ConversationTest::an_empty_chat_is_not_kept() {
  chat->start_new();
  QCOMPARE(chat->id(), std::int64_t{0});
  QVERIFY(history->chats().empty());
}

void ConversationTest::the_first_question_names_the_chat() {
  QVERIFY(chat->insert("user", "  What is a\nblock?  ") != 0);
  QCOMPARE(chat->title(), QString("What is a"));
  QCOMPARE(history->chats().front().title, std::string("What is a"));
}

void ConversationTest::a_long_question_is_cut_at_a_word() {
  chat->insert("user", QString("word ").repeated(40));
  QVERIFY(chat->title().size() <= 61);
  QVERIFY(chat->title().endsWith(QStringLiteral("word…")));
}

void ConversationTest::messages_are_inserted_at_their_place() {
  chat->insert("user", "second");
  chat->insert("assistant", "third");
  QSignalSpy inserted(chat.get(), &ui::Conversation::inserted);
  chat->insert("system", "first", 0);
  QCOMPARE(inserted.back()[0].toInt(), 0);
  QCOMPARE(chat->messages()[0].role, std::string("system"));
  const auto stored = history->messages(chat->id());
  QCOMPARE(stored->at(0).role, std::string("system"));
  QCOMPARE(stored->at(2).role, std::string("assistant"));
}

void ConversationTest::empty_replies_are_no_turns() {
  chat->insert("user", "hello");
  chat->insert("assistant", "");
  QCOMPARE(chat->turns().size(), std::size_t{1});
}

void ConversationTest::turns_end_where_asked() {
  for (const char* text : {"a", "b", "c"}) chat->insert("user", text);
  QCOMPARE(chat->turns(2).size(), std::size_t{2});
  QCOMPARE(chat->turns(2).back().content, std::string("b"));
}

void ConversationTest::versions_are_kept() {
  const std::int64_t id = chat->insert("assistant", "one");
  chat->add_version(id);
  chat->finish(id, "two", "{}", false);
  chat->show_version(id, 0);
  chat->flush();
  const app::StoredMessage stored = history->messages(chat->id())->front();
  QCOMPARE(stored.versions.size(), std::size_t{2});
  QCOMPARE(stored.current, 0);
  QCOMPARE(stored.versions[1].text, std::string("two"));
}

void ConversationTest::an_empty_version_can_be_dropped() {
  const std::int64_t id = chat->insert("assistant", "one");
  chat->add_version(id);
  chat->drop_empty_version(id, 0);
  QCOMPARE(chat->messages()[0].versions.size(), std::size_t{1});
  chat->drop_empty_version(id, 0);
  QCOMPARE(chat->messages()[0].versions.size(), std::size_t{1});
  chat->add_version(id);
  chat->finish(id, "two", "{}", false);
  chat->add_version(id);
  chat->drop_empty_version(id, 0);
  QCOMPARE(chat->messages()[0].versions.size(), std::size_t{2});
  QCOMPARE(chat->messages()[0].current, 0);
}

void ConversationTest::growing_text_is_kept_within_a_second() {
  const std::int64_t id = chat->insert("assistant", "");
  chat->grow(id, "half");
  QTRY_COMPARE(kept(0).text, std::string("half"));
  QVERIFY(kept(0).partial);
}

void ConversationTest::flush_keeps_at_once() {
  const std::int64_t id = chat->insert("assistant", "");
  chat->grow(id, "half");
  chat->flush();
  QCOMPARE(kept(0).text, std::string("half"));
}

void ConversationTest::the_last_text_wins_over_one_that_is_being_written() {
  const std::int64_t id = chat->insert("assistant", "");
  for (int i = 0; i < 20; ++i) {
    chat->grow(id, QString::number(i));
    QTest::qWait(30);
  }
  chat->finish(id, "the end", "{}", false);
  QTRY_COMPARE(kept(0).text, std::string("the end"));
  QVERIFY(!kept(0).partial);
  chat->flush();
  background->wait();
  QCoreApplication::processEvents();
  QCOMPARE(kept(0).text, std::string("the end"));
}

void ConversationTest::edits_are_written_off_the_gui_thread() {
  const std::int64_t id = chat->insert("user", "one");
  chat->edit(id, "two");
  QTRY_COMPARE(kept(0).text, std::string("two"));
  QVERIFY(history->updated_on.load() != std::this_thread::get_id());
  chat->finish(id, "three", {}, false);
  QTRY_COMPARE(kept(0).text, std::string("three"));
  QVERIFY(history->updated_on.load() != std::this_thread::get_id());
}

void ConversationTest::a_problem_lasts_until_all_is_kept() {
  const std::int64_t id = chat->insert("user", "one");
  QSignalSpy told(chat.get(), &ui::Conversation::problem_changed);
  history->full = true;
  chat->edit(id, "two");
  QTRY_VERIFY2(chat->problem().contains("full"), qPrintable(chat->problem()));
  QCOMPARE(chat->insert("user", "three"), std::int64_t{0});
  QCOMPARE(told.count(), 1);
  history->full = false;
  QVERIFY(chat->insert("user", "three") != 0);
  QTRY_COMPARE(chat->problem(), QString());
  QCOMPARE(kept(0).text, std::string("two"));  // the edit was not lost
  QCOMPARE(told.count(), 2);
}

void ConversationTest::a_problem_is_gone_after_a_flush_that_keeps_all() {
  const std::int64_t id = chat->insert("user", "one");
  history->full = true;
  chat->edit(id, "two");
  chat->flush();
  QVERIFY(!chat->problem().isEmpty());
  history->full = false;
  chat->flush();
  QCOMPARE(chat->problem(), QString());
  QCOMPARE(kept(0).text, std::string("two"));
}

void ConversationTest::a_branch_is_made_off_the_gui_thread() {
  for (const char* text : {"a", "b", "c"}) chat->insert("user", text);
  QSignalSpy branched(chat.get(), &ui::Conversation::branched);
  chat->branch(chat->messages()[1].id);
  QTRY_COMPARE(branched.count(), 1);
  QVERIFY(history->updated_on.load() != std::this_thread::get_id());
  const auto copies = history->messages(branched[0][0].toLongLong());
  QCOMPARE(copies->size(), std::size_t{2});
  QCOMPARE(copies->back().versions[0].text, std::string("b"));
}

void ConversationTest::renaming_is_kept() {
  chat->insert("user", "hello");
  chat->rename("  A better   name ");
  QCOMPARE(history->chats().front().title, std::string("A better name"));
  chat->rename("   ");
  QCOMPARE(chat->title(), QString("A better name"));
}

void ConversationTest::an_edit_takes_the_footer_away() {
  const std::int64_t id = chat->insert("assistant", "");
  chat->finish(id, "text", "{\"n_completion\":3}", false);
  chat->edit(id, "other text");
  chat->flush();
  QVERIFY(kept(0).footer_json.empty());
}

void ConversationTest::opening_what_is_gone_fails() {
  QVERIFY(!chat->open(4711));
  QCOMPARE(chat->id(), std::int64_t{0});
}

void ConversationTest::a_footer_survives_its_json() {
  ui::ReplyFooter footer;
  footer.usage = {120, 64, 312};
  footer.ttft_ms = 420;
  footer.tokens_per_second = 41.3;
  footer.stop = "eos";
  footer.record = 7;
  const ui::ReplyFooter again = ui::footer_of(ui::json_of(footer));
  QCOMPARE(again.usage.n_cached_tokens, std::int64_t{64});
  QCOMPARE(again.usage.n_completion_tokens, std::int64_t{312});
  QCOMPARE(again.stop, QString("eos"));
  QCOMPARE(again.record, std::uint64_t{7});
}

void ConversationTest::a_broken_footer_is_an_empty_one() {
  for (const char* source : {"", "{", "[]", "{\"stop\": 4, \"n_completion\": \"x\"}", "null"}) {
    const ui::ReplyFooter footer = ui::footer_of(source);
    QCOMPARE(footer.usage.n_completion_tokens, std::int64_t{0});
    QVERIFY(footer.stop.isEmpty());
  }
}

LATHE_WINDOW_TEST(ConversationTest)

}  // namespace conversation_test
#include "conversation_test.moc"
