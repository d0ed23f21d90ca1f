// SPDX-License-Identifier: Apache-2.0
#include "app/api/history.h"
#include "app/api/message_tree.h"

#include <QTest>
#include <algorithm>
#include <thread>

#include "tests/support/test_class.h"

namespace history_test {

namespace {

using lathe::app::ChatSummary;
using lathe::app::History;
using lathe::app::MessageTree;
using lathe::app::open_history;
using lathe::app::StoredMessage;

std::unique_ptr<History> fresh() { return std::move(*open_history(":memory:")); }

StoredMessage message(std::string role, std::string text, std::int64_t parent = 0) {
  return lathe::app::new_message(std::move(role), std::move(text), parent);
}

/// Adds a message behind those that are shown.
lathe::engine::Result<std::int64_t> append(History& history, std::int64_t chat, StoredMessage stored) {
  stored.parent = MessageTree(*history.messages(chat)).tail();
  return history.add_message(chat, stored);
}

std::vector<std::string> texts(const History& history, std::int64_t chat) {
  std::vector<std::string> list;
  const MessageTree tree(*history.messages(chat));
  for (const StoredMessage& m : tree.path()) list.push_back(m.text);
  return list;
}

std::vector<std::string> titles(const std::vector<ChatSummary>& chats) {
  std::vector<std::string> list;
  for (const ChatSummary& chat : chats) list.push_back(chat.title);
  std::sort(list.begin(), list.end());
  return list;
}

using Texts = std::vector<std::string>;

}  // namespace

class HistoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_new_history_is_empty();
  void messages_come_back_in_order();
  void a_message_can_be_put_in_front();
  void messages_with_one_parent_are_versions();
  void a_chain_is_added_as_one();
  void footer_and_partial_mark_come_back();
  void an_update_replaces_the_text();
  void a_deleted_message_gives_way_to_its_other_version();
  void a_deletion_can_be_undone_after_other_changes();
  void deletion_of_several_is_all_or_none();
  void only_the_last_message_can_be_erased();
  void a_copy_has_the_whole_tree();
  void a_pinned_chat_comes_first();
  void a_draft_belongs_to_its_chat();
  void a_deleted_message_is_gone();
  void a_message_of_another_chat_is_not_deleted();
  void a_deleted_chat_is_gone_until_it_is_restored();
  void a_renamed_chat_has_its_new_title();
  void the_chat_changed_last_comes_first();
  void the_summary_counts_messages();
  void messages_of_other_chats_are_not_mixed_in();
  void unknown_numbers_are_errors();
  void search_finds_words_in_messages();
  void search_finds_titles();
  void search_wants_all_words_and_completes_the_last();
  void search_ignores_case_and_accents();
  void search_forgets_old_text();
  void search_syntax_is_only_text();
  void an_empty_search_lists_all();
  void any_text_comes_back_unchanged();
  void calls_from_several_threads_do_not_mix();
};

void HistoryTest::a_new_history_is_empty() {
  const auto history = fresh();
  QVERIFY(history->chats().empty());
  QCOMPARE(history->problem(), std::string());
}

void HistoryTest::messages_come_back_in_order() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  for (const char* text : {"a", "b", "c"}) QVERIFY(append(*history, chat, message("user", text)).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b", "c"}));
}

void HistoryTest::a_message_can_be_put_in_front() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(append(*history, chat, message("user", "b")).has_value());
  QVERIFY(history->insert_first(chat, message("system", "a")).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b"}));
}

void HistoryTest::messages_with_one_parent_are_versions() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t question = *append(*history, chat, message("user", "q"));
  const std::int64_t first = *history->add_message(chat, message("assistant", "a1", question));
  QVERIFY(append(*history, chat, message("user", "q2")).has_value());
  const std::int64_t second = *history->add_message(chat, message("assistant", "a2", question));
  QCOMPARE(texts(*history, chat), (Texts{"q", "a2"}));
  QVERIFY(history->show_message(chat, first).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"q", "a1", "q2"}));
  QVERIFY(history->show_message(chat, second).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"q", "a2"}));
}

void HistoryTest::a_chain_is_added_as_one() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const auto ids = *history->add_messages(chat, 0, {message("user", "a"), message("assistant", "b"), message("user", "c")});
  QCOMPARE(ids.size(), std::size_t{3});
  QCOMPARE(texts(*history, chat), (Texts{"a", "b", "c"}));
  QVERIFY(!history->add_messages(chat, 99, {message("user", "ghost")}).has_value());
  QCOMPARE(history->messages(chat)->size(), std::size_t{3});
  QVERIFY(history->search("ghost").empty());
}

void HistoryTest::footer_and_partial_mark_come_back() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  StoredMessage stored = message("assistant", "one");
  stored.footer_json = "{\"n\":1}";
  stored.partial = true;
  const std::int64_t id = *history->add_message(chat, stored);
  const StoredMessage read = history->messages(chat)->front();
  QCOMPARE(read.id, id);
  QCOMPARE(read.role, std::string("assistant"));
  QCOMPARE(read.text, std::string("one"));
  QCOMPARE(read.footer_json, std::string("{\"n\":1}"));
  QVERIFY(read.partial && !read.deleted);
}

void HistoryTest::an_update_replaces_the_text() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  StoredMessage stored = message("user", "one");
  stored.partial = true;
  stored.id = *history->add_message(chat, stored);
  stored.text = "three";
  stored.partial = false;
  QVERIFY(history->update_message(chat, stored).has_value());
  const auto read = *history->messages(chat);
  QCOMPARE(read.size(), std::size_t{1});
  QCOMPARE(read[0].text, std::string("three"));
  QVERIFY(!read[0].partial);
}

void HistoryTest::a_deleted_message_gives_way_to_its_other_version() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t question = *append(*history, chat, message("user", "q"));
  QVERIFY(history->add_message(chat, message("assistant", "a1", question)).has_value());
  const std::int64_t second = *history->add_message(chat, message("assistant", "a2", question));
  QVERIFY(append(*history, chat, message("user", "below a2")).has_value());
  QVERIFY(history->delete_messages(chat, {second}).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"q", "a1"}));
  QVERIFY(history->delete_messages(chat, {second}, false).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"q", "a2", "below a2"}));
}

void HistoryTest::a_deletion_can_be_undone_after_other_changes() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const auto ids = *history->add_messages(chat, 0, {message("user", "a"), message("assistant", "b"), message("user", "c")});
  QVERIFY(history->delete_messages(chat, {ids[0], ids[1]}).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"c"}));
  QVERIFY(append(*history, chat, message("assistant", "d")).has_value());
  QVERIFY(history->delete_messages(chat, {ids[0], ids[1]}, false).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b", "c", "d"}));
  QCOMPARE(history->search("a").size(), std::size_t{1});
}

void HistoryTest::deletion_of_several_is_all_or_none() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t id = *append(*history, chat, message("user", "a"));
  QVERIFY(!history->delete_messages(chat, {id, id + 7}).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a"}));
}

void HistoryTest::only_the_last_message_can_be_erased() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const auto ids = *history->add_messages(chat, 0, {message("user", "a"), message("assistant", "b")});
  QVERIFY(history->erase_message(chat, ids[0]).error().code == lathe::engine::ErrorCode::conflict);
  QVERIFY(history->erase_message(chat, ids[1]).has_value());
  QCOMPARE(history->messages(chat)->size(), std::size_t{1});
}

void HistoryTest::a_copy_has_the_whole_tree() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t question = *append(*history, chat, message("user", "q"));
  const std::int64_t first = *history->add_message(chat, message("assistant", "a1", question));
  QVERIFY(history->add_message(chat, message("assistant", "a2", question)).has_value());
  QVERIFY(history->insert_first(chat, message("system", "s")).has_value());
  QVERIFY(history->show_message(chat, first).has_value());
  QVERIFY(history->set_draft(chat, "half").has_value());
  const std::int64_t copy = *history->copy_chat(chat, "t (copy)");
  QCOMPARE(texts(*history, copy), (Texts{"s", "q", "a1"}));
  QCOMPARE(history->messages(copy)->size(), std::size_t{4});
  QCOMPARE(*history->draft(copy), std::string("half"));
  QVERIFY(append(*history, copy, message("user", "only here")).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"s", "q", "a1"}));
  QCOMPARE(titles(history->search("a2")), (Texts{"t", "t (copy)"}));
  QCOMPARE(history->messages(*history->copy_chat(*history->create_chat("none"), "of none"))->size(), std::size_t{0});
}

void HistoryTest::a_pinned_chat_comes_first() {
  const auto history = fresh();
  const std::int64_t first = *history->create_chat("first");
  QVERIFY(history->create_chat("second").has_value());
  QVERIFY(history->pin_chat(first, true).has_value());
  QCOMPARE(history->chats().front().title, std::string("first"));
  QVERIFY(history->chats().front().pinned);
  QVERIFY(!history->pin_chat(99, true).has_value());
}

void HistoryTest::a_draft_belongs_to_its_chat() {
  const auto history = fresh();
  const std::int64_t one = *history->create_chat("1"), two = *history->create_chat("2");
  QVERIFY(history->set_draft(one, "half a thought").has_value());
  QCOMPARE(*history->draft(one), std::string("half a thought"));
  QCOMPARE(*history->draft(two), std::string());
  QVERIFY(!history->draft(99).has_value() && !history->set_draft(99, "x").has_value());
}

void HistoryTest::a_deleted_message_is_gone() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t first = *append(*history, chat, message("user", "a"));
  QVERIFY(append(*history, chat, message("user", "b")).has_value());
  QVERIFY(history->delete_messages(chat, {first}).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"b"}));
}

void HistoryTest::a_message_of_another_chat_is_not_deleted() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t"), other = *history->create_chat("u");
  const std::int64_t id = *append(*history, chat, message("user", "findable"));
  for (const auto& deleted : {history->delete_messages(other, {id}), history->delete_messages(chat, {id + 1})}) {
    QVERIFY(!deleted.has_value());
    QVERIFY(deleted.error().code == lathe::engine::ErrorCode::not_found);
  }
  QCOMPARE(texts(*history, chat), (Texts{"findable"}));
  QCOMPARE(history->search("findable").size(), std::size_t{1});
}

void HistoryTest::a_deleted_chat_is_gone_until_it_is_restored() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(append(*history, chat, message("user", "findable")).has_value());
  QVERIFY(history->delete_chat(chat).has_value());
  QVERIFY(history->chats().empty());
  QVERIFY(history->search("findable").empty());
  QVERIFY(history->delete_chat(chat, false).has_value());
  QCOMPARE(history->chats().size(), std::size_t{1});
  QCOMPARE(history->search("findable").size(), std::size_t{1});
  QVERIFY(!history->delete_chat(chat + 1).has_value());
}

void HistoryTest::a_renamed_chat_has_its_new_title() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("old");
  QVERIFY(history->rename_chat(chat, "new").has_value());
  QCOMPARE(history->chats().front().title, std::string("new"));
}

void HistoryTest::the_chat_changed_last_comes_first() {
  const auto history = fresh();
  const std::int64_t first = *history->create_chat("first");
  QVERIFY(history->create_chat("second").has_value());
  QCOMPARE(history->chats().front().title, std::string("second"));
  // The clock counts milliseconds: until it has moved on, both are equally new.
  const std::int64_t newest = history->chats().front().updated_unix_ms;
  std::int64_t touched = 0;
  while (touched <= newest) {
    QVERIFY(append(*history, first, message("user", "a")).has_value());
    for (const ChatSummary& chat : history->chats()) {
      if (chat.id == first) touched = chat.updated_unix_ms;
    }
  }
  QCOMPARE(history->chats().front().title, std::string("first"));
}

void HistoryTest::the_summary_counts_messages() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  for (int i = 0; i < 5; ++i) QVERIFY(append(*history, chat, message("user", "x")).has_value());
  QCOMPARE(history->chats().front().n_messages, 5);
}

void HistoryTest::messages_of_other_chats_are_not_mixed_in() {
  const auto history = fresh();
  const std::int64_t one = *history->create_chat("1"), two = *history->create_chat("2");
  QVERIFY(append(*history, one, message("user", "a")).has_value());
  QVERIFY(append(*history, two, message("user", "b")).has_value());
  QVERIFY(append(*history, one, message("user", "c")).has_value());
  QCOMPARE(texts(*history, one), (Texts{"a", "c"}));
  QCOMPARE(texts(*history, two), (Texts{"b"}));
}

void HistoryTest::unknown_numbers_are_errors() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(!history->rename_chat(chat + 1, "x").has_value());
  QVERIFY(!history->add_message(chat + 1, message("user", "x")).has_value());
  QVERIFY(!history->add_message(chat, message("user", "x", 99)).has_value());
  QVERIFY(!history->show_message(chat, 99).has_value());
  QVERIFY(!history->copy_chat(99, "x").has_value());
  StoredMessage unknown = message("user", "x");
  unknown.id = 99;
  QCOMPARE(history->update_message(chat, unknown).error().code, lathe::engine::ErrorCode::not_found);
}

void HistoryTest::search_finds_words_in_messages() {
  const auto history = fresh();
  const std::int64_t a = *history->create_chat("a");
  const std::int64_t b = *history->create_chat("b");
  QVERIFY(append(*history, a, message("user", "What is paged attention?")).has_value());
  QVERIFY(append(*history, b, message("user", "What is a mutex?")).has_value());
  QCOMPARE(titles(history->search("attention")), (Texts{"a"}));
  QCOMPARE(titles(history->search("what")), (Texts{"a", "b"}));
  QVERIFY(history->search("elephant").empty());
}

void HistoryTest::search_finds_titles() {
  const auto history = fresh();
  QVERIFY(history->create_chat("About KV blocks").has_value());
  QCOMPARE(titles(history->search("kv bl")), (Texts{"About KV blocks"}));
}

void HistoryTest::search_wants_all_words_and_completes_the_last() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  QVERIFY(append(*history, chat, message("user", "continuous batching of requests")).has_value());
  QCOMPARE(history->search("requests contin").size(), std::size_t{1});
  QVERIFY(history->search("requests elephant").empty());
}

void HistoryTest::search_ignores_case_and_accents() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  QVERIFY(append(*history, chat, message("user", "Où est le Café?")).has_value());
  QCOMPARE(history->search("CAFE").size(), std::size_t{1});
}

void HistoryTest::search_forgets_old_text() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  StoredMessage stored = message("user", "zebra");
  stored.id = *append(*history, chat, stored);
  stored.text = "lion";
  QVERIFY(history->update_message(chat, stored).has_value());
  QVERIFY(history->search("zebra").empty());
  QCOMPARE(history->search("lion").size(), std::size_t{1});
  QVERIFY(history->delete_messages(chat, {stored.id}).has_value());
  QVERIFY(history->search("lion").empty());
}

void HistoryTest::search_syntax_is_only_text() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  QVERIFY(append(*history, chat, message("user", "near or not")).has_value());
  for (const char* words :
       {"\"", "a\"b", "*", "NEAR(a b)", "a AND", "body:x", "-", "^x", "'; DROP TABLE chats; --", "(", "\x01"}) {
    history->search(words);
    QCOMPARE(history->chats().size(), std::size_t{1});
  }
  QCOMPARE(history->search("near OR").size(), std::size_t{1});
}

void HistoryTest::an_empty_search_lists_all() {
  const auto history = fresh();
  QVERIFY(history->create_chat("a").has_value());
  QVERIFY(history->create_chat("b").has_value());
  QCOMPARE(history->search("  ").size(), std::size_t{2});
}

void HistoryTest::any_text_comes_back_unchanged() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  for (const std::string& text : {std::string(), std::string("a\0b", 3), std::string("\xff\xfe broken UTF-8 \xc3"),
                                  std::string("漢字 \U0001F600\n\t'\"`"), std::string(1'000'000, 'x')}) {
    StoredMessage stored = message("user", text);
    QVERIFY(append(*history, chat, stored).has_value());
    QCOMPARE(history->messages(chat)->back().text, text);
  }
}

void HistoryTest::calls_from_several_threads_do_not_mix() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) {
          static_cast<void>(append(*history, chat, message("user", "x")));
          history->search("x");
        }
      });
    }
  }
  QCOMPARE(history->messages(chat)->size(), std::size_t{100});
}

LATHE_TEST(HistoryTest)

}  // namespace history_test
#include "history_test.moc"
