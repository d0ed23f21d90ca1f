// SPDX-License-Identifier: Apache-2.0
#include "app/api/history.h"

#include <QTest>
#include <algorithm>
#include <thread>

#include "tests/support/test_class.h"

namespace history_test {

namespace {

using lathe::app::ChatSummary;
using lathe::app::History;
using lathe::app::MessageVersion;
using lathe::app::open_history;
using lathe::app::StoredMessage;

std::unique_ptr<History> fresh() { return std::move(*open_history(":memory:")); }

StoredMessage message(std::string role, std::string text) { return {0, std::move(role), {{std::move(text), {}, false}}, 0}; }

std::vector<std::string> texts(const History& history, std::int64_t chat) {
  std::vector<std::string> list;
  const auto messages = *history.messages(chat);
  for (const StoredMessage& m : messages) list.push_back(m.versions[static_cast<std::size_t>(m.current)].text);
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
  void a_message_can_be_put_in_the_middle();
  void versions_footer_and_partial_mark_come_back();
  void an_update_replaces_all_versions();
  void a_deleted_message_is_gone();
  void a_message_of_another_chat_is_not_deleted();
  void a_deleted_chat_takes_its_messages_along();
  void a_renamed_chat_has_its_new_title();
  void the_chat_changed_last_comes_first();
  void the_summary_counts_messages();
  void messages_of_other_chats_are_not_mixed_in();
  void unknown_numbers_are_errors();
  void a_message_without_versions_is_refused();
  void a_refused_message_leaves_nothing_behind();
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
  for (const char* text : {"a", "b", "c"}) QVERIFY(history->add_message(chat, message("user", text), -1).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b", "c"}));
}

void HistoryTest::a_message_can_be_put_in_front() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(history->add_message(chat, message("user", "b"), -1).has_value());
  QVERIFY(history->add_message(chat, message("system", "a"), 0).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b"}));
}

void HistoryTest::a_message_can_be_put_in_the_middle() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t first = *history->add_message(chat, message("user", "a"), -1);
  QVERIFY(history->add_message(chat, message("user", "d"), -1).has_value());
  const std::int64_t second = *history->add_message(chat, message("assistant", "b"), first);
  QVERIFY(history->add_message(chat, message("user", "c"), second).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"a", "b", "c", "d"}));
}

void HistoryTest::versions_footer_and_partial_mark_come_back() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const StoredMessage stored{0, "assistant", {{"one", "{\"n\":1}", false}, {"two", "", true}, {"three", "", false}}, 1};
  const std::int64_t id = *history->add_message(chat, stored, -1);
  const StoredMessage read = history->messages(chat)->front();
  QCOMPARE(read.id, id);
  QCOMPARE(read.role, std::string("assistant"));
  QCOMPARE(read.current, 1);
  QCOMPARE(read.versions.size(), std::size_t{3});
  QCOMPARE(read.versions[0].footer_json, std::string("{\"n\":1}"));
  QCOMPARE(read.versions[1].partial, true);
  QCOMPARE(read.versions[2].text, std::string("three"));
}

void HistoryTest::an_update_replaces_all_versions() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  StoredMessage stored{0, "user", {{"one", "", false}, {"two", "", false}}, 0};
  stored.id = *history->add_message(chat, stored, -1);
  stored.role = "assistant";
  stored.versions = {{"three", "", false}};
  QVERIFY(history->update_message(chat, stored).has_value());
  const auto read = *history->messages(chat);
  QCOMPARE(read.size(), std::size_t{1});
  QCOMPARE(read[0].role, std::string("assistant"));
  QCOMPARE(read[0].versions.size(), std::size_t{1});
  QCOMPARE(read[0].versions[0].text, std::string("three"));
}

void HistoryTest::a_deleted_message_is_gone() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  const std::int64_t first = *history->add_message(chat, message("user", "a"), -1);
  QVERIFY(history->add_message(chat, message("user", "b"), -1).has_value());
  QVERIFY(history->delete_message(chat, first).has_value());
  QCOMPARE(texts(*history, chat), (Texts{"b"}));
}

void HistoryTest::a_message_of_another_chat_is_not_deleted() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t"), other = *history->create_chat("u");
  const std::int64_t id = *history->add_message(chat, message("user", "findable"), -1);
  for (const auto& deleted : {history->delete_message(other, id), history->delete_message(chat, id + 1)}) {
    QVERIFY(!deleted.has_value());
    QVERIFY(deleted.error().code == lathe::engine::ErrorCode::not_found);
  }
  QCOMPARE(texts(*history, chat), (Texts{"findable"}));
  QCOMPARE(history->search("findable").size(), std::size_t{1});
}

void HistoryTest::a_deleted_chat_takes_its_messages_along() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(history->add_message(chat, message("user", "findable"), -1).has_value());
  QVERIFY(history->delete_chat(chat).has_value());
  QVERIFY(history->chats().empty());
  QVERIFY(history->messages(chat)->empty());
  QVERIFY(history->search("findable").empty());
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
    QVERIFY(history->add_message(first, message("user", "a"), -1).has_value());
    for (const ChatSummary& chat : history->chats()) {
      if (chat.id == first) touched = chat.updated_unix_ms;
    }
  }
  QCOMPARE(history->chats().front().title, std::string("first"));
}

void HistoryTest::the_summary_counts_messages() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  for (int i = 0; i < 5; ++i) QVERIFY(history->add_message(chat, message("user", "x"), -1).has_value());
  QCOMPARE(history->chats().front().n_messages, 5);
}

void HistoryTest::messages_of_other_chats_are_not_mixed_in() {
  const auto history = fresh();
  const std::int64_t one = *history->create_chat("1"), two = *history->create_chat("2");
  QVERIFY(history->add_message(one, message("user", "a"), -1).has_value());
  QVERIFY(history->add_message(two, message("user", "b"), -1).has_value());
  QVERIFY(history->add_message(one, message("user", "c"), -1).has_value());
  QCOMPARE(texts(*history, one), (Texts{"a", "c"}));
  QCOMPARE(texts(*history, two), (Texts{"b"}));
}

void HistoryTest::unknown_numbers_are_errors() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(!history->rename_chat(chat + 1, "x").has_value());
  QVERIFY(!history->add_message(chat + 1, message("user", "x"), -1).has_value());
  QVERIFY(!history->add_message(chat, message("user", "x"), 99).has_value());
  StoredMessage unknown = message("user", "x");
  unknown.id = 99;
  QCOMPARE(history->update_message(chat, unknown).error().code, lathe::engine::ErrorCode::not_found);
}

void HistoryTest::a_message_without_versions_is_refused() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(!history->add_message(chat, {0, "user", {}, 0}, -1).has_value());
  QVERIFY(!history->add_message(chat, {0, "user", {{"a", "", false}}, 1}, -1).has_value());
  QVERIFY(!history->add_message(chat, {0, "user", {{"a", "", false}}, -1}, -1).has_value());
}

void HistoryTest::a_refused_message_leaves_nothing_behind() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("t");
  QVERIFY(!history->add_message(chat, {0, "user", {{"ghost", "", false}}, 5}, -1).has_value());
  QVERIFY(history->messages(chat)->empty());
  QVERIFY(history->search("ghost").empty());
  // And the next transaction is not stuck in the old one.
  QVERIFY(history->add_message(chat, message("user", "a"), -1).has_value());
}

void HistoryTest::search_finds_words_in_messages() {
  const auto history = fresh();
  const std::int64_t a = *history->create_chat("a");
  const std::int64_t b = *history->create_chat("b");
  QVERIFY(history->add_message(a, message("user", "What is paged attention?"), -1).has_value());
  QVERIFY(history->add_message(b, message("user", "What is a mutex?"), -1).has_value());
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
  QVERIFY(history->add_message(chat, message("user", "continuous batching of requests"), -1).has_value());
  QCOMPARE(history->search("requests contin").size(), std::size_t{1});
  QVERIFY(history->search("requests elephant").empty());
}

void HistoryTest::search_ignores_case_and_accents() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  QVERIFY(history->add_message(chat, message("user", "Où est le Café?"), -1).has_value());
  QCOMPARE(history->search("CAFE").size(), std::size_t{1});
}

void HistoryTest::search_forgets_old_text() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  StoredMessage stored = message("user", "zebra");
  stored.id = *history->add_message(chat, stored, -1);
  stored.versions[0].text = "lion";
  QVERIFY(history->update_message(chat, stored).has_value());
  QVERIFY(history->search("zebra").empty());
  QCOMPARE(history->search("lion").size(), std::size_t{1});
  QVERIFY(history->delete_message(chat, stored.id).has_value());
  QVERIFY(history->search("lion").empty());
}

void HistoryTest::search_syntax_is_only_text() {
  const auto history = fresh();
  const std::int64_t chat = *history->create_chat("x");
  QVERIFY(history->add_message(chat, message("user", "near or not"), -1).has_value());
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
    QVERIFY(history->add_message(chat, stored, -1).has_value());
    QCOMPARE(history->messages(chat)->back().versions[0].text, text);
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
          static_cast<void>(history->add_message(chat, message("user", "x"), -1));
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
