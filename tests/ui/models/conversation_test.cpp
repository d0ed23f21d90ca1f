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
  engine::Result<void> pin_chat(std::int64_t chat, bool pinned) override { return inner_->pin_chat(chat, pinned); }
  engine::Result<std::int64_t> copy_chat(std::int64_t chat, const std::string& title) override {
    return inner_->copy_chat(chat, title);
  }
  engine::Result<void> delete_chat(std::int64_t chat, bool deleted) override {
    if (full) return no_space();
    return inner_->delete_chat(chat, deleted);
  }
  engine::Result<std::vector<app::StoredMessage>> messages(std::int64_t chat) const override {
    return inner_->messages(chat);
  }
  engine::Result<std::int64_t> add_message(std::int64_t chat, const app::StoredMessage& message) override {
    updated_on = std::this_thread::get_id();
    if (full) return no_space();
    return inner_->add_message(chat, message);
  }
  engine::Result<std::vector<std::int64_t>> add_messages(std::int64_t chat, std::int64_t parent,
                                                         const std::vector<app::StoredMessage>& chain) override {
    updated_on = std::this_thread::get_id();
    if (full) return no_space();
    return inner_->add_messages(chat, parent, chain);
  }
  engine::Result<std::int64_t> insert_first(std::int64_t chat, const app::StoredMessage& message) override {
    if (full) return no_space();
    return inner_->insert_first(chat, message);
  }
  engine::Result<void> update_message(std::int64_t chat, const app::StoredMessage& message) override {
    updated_on = std::this_thread::get_id();
    if (full) return no_space();
    return inner_->update_message(chat, message);
  }
  engine::Result<std::int64_t> show_message(std::int64_t chat, std::int64_t message) override {
    if (full) return no_space();
    return inner_->show_message(chat, message);
  }
  engine::Result<void> delete_messages(std::int64_t chat, const std::vector<std::int64_t>& messages, bool deleted) override {
    if (full) return no_space();
    return inner_->delete_messages(chat, messages, deleted);
  }
  engine::Result<void> erase_message(std::int64_t chat, std::int64_t message) override {
    return inner_->erase_message(chat, message);
  }
  engine::Result<std::string> draft(std::int64_t chat) const override { return inner_->draft(chat); }
  engine::Result<void> set_draft(std::int64_t chat, const std::string& text) override {
    return inner_->set_draft(chat, text);
  }
  std::string problem() const override { return inner_->problem(); }

 private:
  static tl::unexpected<engine::Error> no_space() {
    return engine::fail(engine::ErrorCode::internal, "database or disk is full");
  }
  std::unique_ptr<app::History> inner_;
};

}  // namespace

using Texts = std::vector<std::string>;

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
  void each_version_of_a_question_has_its_own_replies();
  void an_edited_system_prompt_is_followed_by_a_copy();
  void an_edit_without_a_change_makes_no_version();
  void an_empty_version_can_be_discarded();
  void deleted_messages_come_back();
  void a_refused_deletion_changes_nothing();
  void a_text_that_grows_elsewhere_is_kept();
  void growing_text_is_kept_within_a_second();
  void flush_keeps_at_once();
  void the_last_text_wins_over_one_that_is_being_written();
  void texts_are_written_off_the_gui_thread();
  void a_problem_lasts_until_all_is_kept();
  void a_problem_is_gone_after_a_flush_that_keeps_all();
  void a_branch_is_made_off_the_gui_thread();
  void renaming_is_kept();
  void an_edit_takes_the_footer_away();
  void opening_what_is_gone_fails();
  void a_footer_survives_its_json();
  void a_broken_footer_is_an_empty_one();

 private:
  app::StoredMessage kept(std::size_t message) {
    const app::MessageTree tree(*history->messages(chat->id()));
    return tree.path().at(message);
  }
  std::vector<std::string> shown() const {
    std::vector<std::string> texts;
    for (const app::StoredMessage& message : chat->messages()) texts.push_back(message.text);
    return texts;
  }
  std::vector<std::string> stored() const {
    std::vector<std::string> texts;
    const app::MessageTree tree(*history->messages(chat->id()));
    for (const app::StoredMessage& message : tree.path()) texts.push_back(message.text);
    return texts;
  }

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
  QSignalSpy changed(chat.get(), &ui::Conversation::path_changed);
  chat->insert_first("system", "first");
  QCOMPARE(changed.back()[0].toInt(), 0);
  QCOMPARE(chat->messages()[0].role, std::string("system"));
  QCOMPARE(shown(), (Texts{"first", "second", "third"}));
  QCOMPARE(stored(), shown());
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
  const std::int64_t other = chat->add_version(id);
  chat->finish(chat->id(), other, "two", "{}", false);
  chat->show_version(other, 0);
  QCOMPARE(shown(), (Texts{"one"}));
  chat->flush();
  QCOMPARE(stored(), (Texts{"one"}));
  QCOMPARE(history->messages(chat->id())->back().text, std::string("two"));
}

void ConversationTest::each_version_of_a_question_has_its_own_replies() {
  const std::int64_t question = chat->insert("user", "q1");
  chat->insert("assistant", "a1");
  chat->insert("user", "more");
  QSignalSpy changed(chat.get(), &ui::Conversation::path_changed);
  const std::int64_t edited = chat->edit(question, "q2");
  QVERIFY(edited != question && edited != 0);
  QCOMPARE(changed.back()[0].toInt(), 0);
  QCOMPARE(shown(), (Texts{"q2"}));
  chat->insert("assistant", "a2");
  chat->show_version(edited, 0);
  QCOMPARE(shown(), (Texts{"q1", "a1", "more"}));
  chat->show_version(question, 1);
  QCOMPARE(shown(), (Texts{"q2", "a2"}));
  const std::int64_t id = chat->id();
  chat->start_new();
  QVERIFY(chat->open(id));
  QCOMPARE(shown(), (Texts{"q2", "a2"}));
  QCOMPARE(chat->versions(chat->messages()[0].id).size(), std::size_t{2});
}

void ConversationTest::an_edited_system_prompt_is_followed_by_a_copy() {
  const std::int64_t system = chat->insert("system", "s1");
  chat->insert("user", "q");
  chat->insert("assistant", "a");
  const std::int64_t edited = chat->edit(system, "s2");
  QCOMPARE(shown(), (Texts{"s2", "q", "a"}));
  QCOMPARE(stored(), shown());
  chat->insert("user", "under s2");
  chat->show_version(edited, 0);
  QCOMPARE(shown(), (Texts{"s1", "q", "a"}));
}

void ConversationTest::an_edit_without_a_change_makes_no_version() {
  const std::int64_t id = chat->insert("user", "same");
  QCOMPARE(chat->edit(id, "same"), id);
  QCOMPARE(chat->versions(id).size(), std::size_t{1});
}

void ConversationTest::an_empty_version_can_be_discarded() {
  const std::int64_t id = chat->insert("assistant", "one");
  QVERIFY(chat->discard(chat->id(), chat->add_version(id)));
  QCOMPARE(shown(), (Texts{"one"}));
  QCOMPARE(history->messages(chat->id())->size(), std::size_t{1});
  chat->insert("user", "behind");
  QVERIFY(!chat->discard(chat->id(), id));
  QCOMPARE(shown(), (Texts{"one", "behind"}));
}

void ConversationTest::deleted_messages_come_back() {
  chat->insert("user", "a");
  const std::int64_t middle = chat->insert("assistant", "b");
  chat->insert("user", "c");
  QVERIFY(chat->set_deleted(chat->id(), {middle}, true));
  QCOMPARE(shown(), (Texts{"a", "c"}));
  QVERIFY(chat->set_deleted(chat->id(), {middle}, false));
  QCOMPARE(shown(), (Texts{"a", "b", "c"}));
  QCOMPARE(stored(), shown());
}

void ConversationTest::a_refused_deletion_changes_nothing() {
  const std::int64_t id = chat->insert("user", "a");
  history->full = true;
  QVERIFY(!chat->set_deleted(chat->id(), {id}, true) && !chat->set_chat_deleted(chat->id(), true));
  QCOMPARE(shown(), (Texts{"a"}));
  QVERIFY(chat->problem().contains("full"));
}

void ConversationTest::a_text_that_grows_elsewhere_is_kept() {
  const std::int64_t id = chat->insert("assistant", "");
  const std::int64_t first = chat->id();
  chat->start_new();
  chat->insert("user", "here");
  chat->grow(first, id, "half");
  QTRY_COMPARE(history->messages(first)->front().text, std::string("half"));
  chat->grow(first, id, "half a reply");
  QVERIFY(chat->open(first));
  QCOMPARE(shown(), (Texts{"half a reply"}));
}

void ConversationTest::growing_text_is_kept_within_a_second() {
  const std::int64_t id = chat->insert("assistant", "");
  chat->grow(chat->id(), id, "half");
  QTRY_COMPARE(kept(0).text, std::string("half"));
  QVERIFY(kept(0).partial);
}

void ConversationTest::flush_keeps_at_once() {
  const std::int64_t id = chat->insert("assistant", "");
  chat->grow(chat->id(), id, "half");
  chat->flush();
  QCOMPARE(kept(0).text, std::string("half"));
}

void ConversationTest::the_last_text_wins_over_one_that_is_being_written() {
  const std::int64_t id = chat->insert("assistant", "");
  for (int i = 0; i < 20; ++i) {
    chat->grow(chat->id(), id, QString::number(i));
    QTest::qWait(30);
  }
  chat->finish(chat->id(), id, "the end", "{}", false);
  QTRY_COMPARE(kept(0).text, std::string("the end"));
  QVERIFY(!kept(0).partial);
  chat->flush();
  background->wait();
  QCoreApplication::processEvents();
  QCOMPARE(kept(0).text, std::string("the end"));
}

void ConversationTest::texts_are_written_off_the_gui_thread() {
  const std::int64_t id = chat->insert("assistant", "one");
  chat->finish(chat->id(), id, "three", {}, false);
  QTRY_COMPARE(kept(0).text, std::string("three"));
  QVERIFY(history->updated_on.load() != std::this_thread::get_id());
}

void ConversationTest::a_problem_lasts_until_all_is_kept() {
  const std::int64_t id = chat->insert("assistant", "one");
  QSignalSpy told(chat.get(), &ui::Conversation::problem_changed);
  history->full = true;
  chat->finish(chat->id(), id, "two", {}, false);
  QTRY_VERIFY2(chat->problem().contains("full"), qPrintable(chat->problem()));
  QCOMPARE(chat->insert("user", "three"), std::int64_t{0});
  QCOMPARE(told.count(), 1);
  history->full = false;
  QVERIFY(chat->insert("user", "three") != 0);
  QTRY_COMPARE(chat->problem(), QString());
  QCOMPARE(kept(0).text, std::string("two"));  // the text was not lost
  QCOMPARE(told.count(), 2);
}

void ConversationTest::a_problem_is_gone_after_a_flush_that_keeps_all() {
  const std::int64_t id = chat->insert("assistant", "one");
  history->full = true;
  chat->finish(chat->id(), id, "two", {}, false);
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
  QCOMPARE(copies->back().text, std::string("b"));
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
  chat->finish(chat->id(), id, "text", "{\"n_completion\":3}", false);
  chat->edit(id, "other text");
  chat->flush();
  QCOMPARE(kept(0).text, std::string("other text"));
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
