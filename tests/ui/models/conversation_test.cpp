// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/conversation.h"

#include <QSignalSpy>
#include <QTest>

#include "ui/models/reply_writer.h"

using namespace lathe;

class ConversationTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    history = std::move(*app::open_history(":memory:"));
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
  void renaming_is_kept();
  void an_edit_takes_the_footer_away();
  void opening_what_is_gone_fails();
  void a_footer_survives_its_json();
  void a_broken_footer_is_an_empty_one();

 private:
  app::MessageVersion kept(std::size_t message) { return history->messages(chat->id())->at(message).versions.back(); }

  std::unique_ptr<app::History> history;
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
  const app::StoredMessage stored = history->messages(chat->id())->front();
  QCOMPARE(stored.versions.size(), std::size_t{2});
  QCOMPARE(stored.current, 0);
  QCOMPARE(stored.versions[1].text, std::string("two"));
}

void ConversationTest::an_empty_version_can_be_dropped() {
  const std::int64_t id = chat->insert("assistant", "one");
  chat->add_version(id);
  chat->drop_empty_version(id);
  QCOMPARE(chat->messages()[0].versions.size(), std::size_t{1});
  chat->drop_empty_version(id);
  QCOMPARE(chat->messages()[0].versions.size(), std::size_t{1});
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
  background->wait();
  QCoreApplication::processEvents();
  QCOMPARE(kept(0).text, std::string("the end"));
  QVERIFY(!kept(0).partial);
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

QTEST_MAIN(ConversationTest)
#include "conversation_test.moc"
