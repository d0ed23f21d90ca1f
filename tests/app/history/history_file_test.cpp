// SPDX-License-Identifier: Apache-2.0
// The history's file: kills, damage, and files of others.
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/api/history.h"
#include "app/api/message_tree.h"
#include "tests/support/test_class.h"

namespace history_file_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::History;
using lathe::app::open_history;
using lathe::app::StoredMessage;

struct Profile {
  QTemporaryDir temporary;
  std::string file = temporary.filePath("history.db").toStdString();

  std::unique_ptr<History> open() const { return std::move(*open_history(file)); }
  int n_bad_files() const {
    int n = 0;
    for (const auto& entry : fs::directory_iterator(temporary.path().toStdString())) {
      const std::string name = entry.path().filename().string();
      n += name.starts_with("history.db.bad-") && !name.ends_with("-journal") ? 1 : 0;
    }
    return n;
  }
  /// Runs SQL on the file as a stranger would.
  void run(const std::string& sql) const {
    sqlite3* connection = nullptr;
    QCOMPARE(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
    char* problem = nullptr;
    sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &problem);
    QVERIFY2(problem == nullptr, problem);
    sqlite3_close(connection);
  }
};

/// The verdict of SQLite's integrity check on the whole file; "ok" for a good one.
std::string integrity_of(const std::string& file) {
  sqlite3* connection = nullptr;
  sqlite3_stmt* statement = nullptr;
  std::string verdict = "cannot be opened";
  if (sqlite3_open(file.c_str(), &connection) == SQLITE_OK &&
      sqlite3_prepare_v2(connection, "PRAGMA integrity_check", -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    verdict = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  return verdict;
}

StoredMessage numbered(int i, std::int64_t parent = 0) {
  return lathe::app::new_message("user", std::to_string(i) + std::string(2000, '.'), parent);
}

using Texts = std::vector<std::string>;

Texts shown(const History& history, std::int64_t chat) {
  Texts list;
  const lathe::app::MessageTree tree(*history.messages(chat));
  for (const StoredMessage& message : tree.path()) list.push_back(message.text);
  return list;
}

/// In a child: adds messages until it is killed, and says each number once it is stored.
[[noreturn]] void write_for_ever(const std::string& file, int stored_fd) {
  const auto history = open_history(file);
  const auto chats = (*history)->chats();
  const std::int64_t chat = chats.empty() ? *(*history)->create_chat("t") : chats.front().id;
  std::int64_t last = lathe::app::MessageTree(*(*history)->messages(chat)).tail();
  for (int i = static_cast<int>((*history)->messages(chat)->size());; ++i) {
    const auto id = (*history)->add_message(chat, numbered(i, last));
    if (!id) ::_exit(1);
    last = *id;
    if (::write(stored_fd, &i, sizeof i) != sizeof i) ::_exit(1);
  }
}

/// Lets a child write, kills it after at least `n_messages`, and returns the last number that it said.
int write_and_kill(const std::string& file, int n_messages) {
  int stored[2];
  if (::pipe(stored) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(stored[0]);
    write_for_ever(file, stored[1]);
  }
  ::close(stored[1]);
  int last = -1, number = 0, n_read = 0;
  while (n_read < n_messages && ::read(stored[0], &number, sizeof number) == sizeof number) {
    last = number;
    ++n_read;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(stored[0], &number, sizeof number) == sizeof number) last = number;
  ::close(stored[0]);
  return last;
}

void store_one(const Profile& profile) {
  const auto history = profile.open();
  const std::int64_t chat = *history->create_chat("kept");
  QVERIFY(history->add_message(chat, numbered(0)).has_value());
}

/// The rule for a file that cannot be used: it is kept, a new one works, the user is told once.
void check_set_aside(const Profile& profile) {
  {
    const auto history = profile.open();
    QVERIFY2(history->problem().find(".bad-") != std::string::npos, history->problem().c_str());
    QVERIFY(history->chats().empty());
    QVERIFY(history->create_chat("new").has_value());
    QCOMPARE(profile.n_bad_files(), 1);
  }
  const auto again = profile.open();
  QCOMPARE(again->problem(), std::string());
  QCOMPARE(again->chats().size(), std::size_t{1});
}

}  // namespace

class HistoryFileTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void chats_survive_a_restart();
  void U1_a_partial_answer_is_saved_and_marked();
  void U2_a_kill_loses_nothing_that_was_stored();
  void U4_rubbish_is_set_aside();
  void U4_a_damaged_page_is_set_aside();
  void U4_a_future_schema_is_set_aside();
  void U4_a_foreign_database_is_set_aside();
  void U4_a_schema_with_a_trigger_is_set_aside();
  void U4_a_folder_in_its_place_is_set_aside();
  void U4_a_locked_file_is_not_set_aside();
  void U3_an_unwritable_home_keeps_chats_in_memory();
  void an_empty_file_becomes_a_history();
  void a_list_of_version_1_becomes_a_tree();
  void a_migration_that_fails_leaves_the_old_file();
  void what_is_deleted_is_erased_when_it_is_opened();
  void what_follows_a_deleted_version_is_erased_with_it();
};

/// A file as the first version wrote it: a question with three answers, the second of which is shown, and a question after
/// it.
void write_version_1(const Profile& profile) {
  profile.run(R"(
    CREATE TABLE chats (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, folder TEXT NOT NULL DEFAULT '',
      updated_unix_ms INTEGER NOT NULL);
    CREATE INDEX chats_by_time ON chats (updated_unix_ms DESC, id DESC);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, chat INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
      position INTEGER NOT NULL, role TEXT NOT NULL, current INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX messages_by_chat ON messages (chat, position);
    CREATE TABLE versions (message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE, number INTEGER NOT NULL,
      text TEXT NOT NULL, footer_json TEXT NOT NULL, partial INTEGER NOT NULL, PRIMARY KEY (message, number)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'unicode61 remove_diacritics 2');
    INSERT INTO chats VALUES (3, 'old', '', 17), (4, 'other', '', 16), (5, 'empty', '', 15);
    INSERT INTO messages VALUES (9, 3, 2, 'assistant', 1), (10, 3, 1, 'user', 0), (11, 3, 3, 'user', 0), (12, 4, 1, 'user', 5);
    INSERT INTO versions VALUES (10, 0, 'question', '', 0), (9, 0, 'one', '{}', 0), (9, 1, 'two', '{"n_completion":2}', 1),
      (9, 2, 'three', '', 0), (11, 0, 'and then', '', 0), (12, 0, 'alone', '', 0);
    INSERT INTO words (rowid, body) VALUES (10, 'question'), (9, 'two'), (11, 'and then'), (12, 'alone');
    PRAGMA user_version = 1;)");
}

void HistoryFileTest::chats_survive_a_restart() {
  const Profile profile;
  store_one(profile);
  const auto history = profile.open();
  QCOMPARE(history->chats().front().title, std::string("kept"));
  QCOMPARE(history->messages(history->chats().front().id)->size(), std::size_t{1});
  QCOMPARE(history->problem(), std::string());
}

void HistoryFileTest::U1_a_partial_answer_is_saved_and_marked() {
  const Profile profile;
  {
    const auto history = profile.open();
    const std::int64_t chat = *history->create_chat("t");
    StoredMessage answer = lathe::app::new_message("assistant", "Half an ans", 0);
    answer.partial = true;
    QVERIFY(history->add_message(chat, answer).has_value());
  }
  const auto history = profile.open();
  const StoredMessage read = history->messages(history->chats().front().id)->front();
  QCOMPARE(read.text, std::string("Half an ans"));
  QCOMPARE(read.partial, true);
}

void HistoryFileTest::U2_a_kill_loses_nothing_that_was_stored() {
  const Profile profile;
  for (int n_messages : {1, 2, 3, 5, 8, 13}) {
    const int last = write_and_kill(profile.file, n_messages);
    QVERIFY(last >= 0);
    const auto history = profile.open();
    QCOMPARE(history->problem(), std::string());
    QCOMPARE(integrity_of(profile.file), std::string("ok"));
    const Texts texts = shown(*history, history->chats().front().id);
    QVERIFY2(static_cast<int>(texts.size()) > last, std::to_string(last).c_str());
    for (std::size_t i = 0; i < texts.size(); ++i) QCOMPARE(texts[i], numbered(static_cast<int>(i)).text);
  }
}

void HistoryFileTest::U4_rubbish_is_set_aside() {
  const Profile profile;
  std::ofstream(profile.file) << std::string(10'000, 'x');
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_damaged_page_is_set_aside() {
  const Profile profile;
  store_one(profile);
  {
    std::fstream stream(profile.file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(4096);
    for (int i = 0; i < 3 * 4096; ++i) stream.put(static_cast<char>(0x5a));
  }
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_future_schema_is_set_aside() {
  const Profile profile;
  store_one(profile);
  profile.run("PRAGMA user_version = 3");
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_foreign_database_is_set_aside() {
  const Profile profile;
  profile.run("CREATE TABLE recipes (name TEXT); PRAGMA user_version = 1");
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_schema_with_a_trigger_is_set_aside() {
  const Profile profile;
  store_one(profile);
  profile.run("CREATE TRIGGER evil AFTER INSERT ON chats BEGIN DELETE FROM messages; END");
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_folder_in_its_place_is_set_aside() {
  const Profile profile;
  fs::create_directories(profile.file + "/inside");
  check_set_aside(profile);
}

void HistoryFileTest::U4_a_locked_file_is_not_set_aside() {
  const Profile profile;
  store_one(profile);
  sqlite3* other = nullptr;
  QCOMPARE(sqlite3_open(profile.file.c_str(), &other), SQLITE_OK);
  QCOMPARE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  {
    const auto history = profile.open();
    QVERIFY2(history->problem().find("will not be saved") != std::string::npos, history->problem().c_str());
    QVERIFY(history->create_chat("in memory").has_value());
  }
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  QCOMPARE(profile.n_bad_files(), 0);
  QCOMPARE(profile.open()->chats().front().title, std::string("kept"));
}

void HistoryFileTest::U3_an_unwritable_home_keeps_chats_in_memory() {
  const Profile profile;
  std::ofstream(profile.temporary.filePath("file").toStdString()) << "x";
  const auto history = std::move(*open_history(profile.temporary.filePath("file/data/history.db").toStdString()));
  QVERIFY2(history->problem().find("will not be saved") != std::string::npos, history->problem().c_str());
  QVERIFY(history->create_chat("t").has_value());
  QCOMPARE(history->chats().size(), std::size_t{1});
}

void HistoryFileTest::an_empty_file_becomes_a_history() {
  const Profile profile;
  std::ofstream(profile.file).flush();
  const auto history = profile.open();
  QCOMPARE(history->problem(), std::string());
  QVERIFY(history->create_chat("t").has_value());
}

void HistoryFileTest::a_list_of_version_1_becomes_a_tree() {
  const Profile profile;
  write_version_1(profile);
  for (int round = 0; round < 2; ++round) {
    const auto history = profile.open();
    QCOMPARE(history->problem(), std::string());
    QCOMPARE(history->chats().size(), std::size_t{3});
    QCOMPARE(history->chats().front().title, std::string("old"));
    QCOMPARE(history->chats().front().updated_unix_ms, std::int64_t{17});
    QCOMPARE(shown(*history, 3), (Texts{"question", "two", "and then"}));
    QCOMPARE(shown(*history, 4), (Texts{"alone"}));
    const lathe::app::MessageTree tree(*history->messages(3));
    QCOMPARE(tree.versions(tree.path()[1].id).size(), std::size_t{3});
    QVERIFY(tree.path()[1].partial);
    QCOMPARE(tree.path()[1].footer_json, std::string("{\"n_completion\":2}"));
    QCOMPARE(history->search("three").size(), std::size_t{1});
    QCOMPARE(integrity_of(profile.file), std::string("ok"));
  }
  const auto history = profile.open();
  const lathe::app::MessageTree tree(*history->messages(3));
  QVERIFY(history->show_message(3, tree.versions(tree.path()[1].id)[0]).has_value());
  QCOMPARE(shown(*history, 3), (Texts{"question", "one"}));
  QVERIFY(history->add_message(3, lathe::app::new_message("user", "new", tree.versions(tree.path()[1].id)[0])).has_value());
  QCOMPARE(shown(*history, 3), (Texts{"question", "one", "new"}));
}

/// A table in the way of the migration: the file is foreign, and is kept as it was.
void HistoryFileTest::a_migration_that_fails_leaves_the_old_file() {
  const Profile profile;
  write_version_1(profile);
  profile.run("ALTER TABLE versions DROP COLUMN footer_json");
  check_set_aside(profile);
}

void HistoryFileTest::what_is_deleted_is_erased_when_it_is_opened() {
  const Profile profile;
  std::int64_t kept = 0;
  {
    const auto history = profile.open();
    kept = *history->create_chat("kept");
    const std::int64_t gone = *history->create_chat("gone");
    const auto ids = *history->add_messages(kept, 0, {numbered(0), numbered(1), numbered(2), numbered(3)});
    QVERIFY(history->add_message(gone, lathe::app::new_message("user", "secret", 0)).has_value());
    QVERIFY(history->delete_messages(kept, {ids[1], ids[3]}).has_value());
    QVERIFY(history->delete_chat(gone).has_value());
  }
  const auto history = profile.open();
  QCOMPARE(history->problem(), std::string());
  QCOMPARE(history->chats().size(), std::size_t{1});
  QCOMPARE(shown(*history, kept), (Texts{numbered(0).text, numbered(2).text}));
  const auto left = *history->messages(kept);
  QCOMPARE(left.size(), std::size_t{3});  // what the last one followed keeps its row without its text
  for (const StoredMessage& message : left) QVERIFY(message.deleted == message.text.empty());
  QVERIFY(history->search("secret").empty());
  QVERIFY(!history->delete_chat(kept + 1, false).has_value());
}

void HistoryFileTest::what_follows_a_deleted_version_is_erased_with_it() {
  const Profile profile;
  std::int64_t chat = 0;
  {
    const auto history = profile.open();
    chat = *history->create_chat("t");
    const auto old = *history->add_messages(chat, 0, {numbered(0), numbered(1)});
    const auto other = *history->add_messages(chat, 0, {numbered(2), numbered(3)});
    QVERIFY(history->delete_messages(chat, {other[0]}).has_value());
    QCOMPARE(shown(*history, chat), (Texts{numbered(0).text, numbered(1).text}));
  }
  const auto history = profile.open();
  QCOMPARE(history->messages(chat)->size(), std::size_t{2});
  QCOMPARE(shown(*history, chat), (Texts{numbered(0).text, numbered(1).text}));
}

LATHE_TEST(HistoryFileTest)

}  // namespace history_file_test
#include "history_file_test.moc"
