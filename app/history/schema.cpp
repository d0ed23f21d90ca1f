// SPDX-License-Identifier: Apache-2.0
#include "app/history/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::int64_t kVersion = 2;

/// Table of messages of version 2. `words` holds the text of each message that is not deleted, with its id, for the search.
constexpr const char* kMessages = R"(
  CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    parent INTEGER NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    footer_json TEXT NOT NULL,
    partial INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    deleted_unix_ms INTEGER NOT NULL DEFAULT 0);
  CREATE INDEX messages_by_chat ON messages (chat, parent);
  CREATE INDEX deleted_messages ON messages (deleted_unix_ms) WHERE deleted_unix_ms > 0;
)";

constexpr const char* kSchema = R"(
  CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    folder TEXT NOT NULL DEFAULT '',
    updated_unix_ms INTEGER NOT NULL,
    draft TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted_unix_ms INTEGER NOT NULL DEFAULT 0);
  CREATE INDEX chats_by_time ON chats (updated_unix_ms DESC, id DESC);
  CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'unicode61 remove_diacritics 2');
  PRAGMA user_version = 2;
)";

/// Changes of version 1 around its messages, which make_trees() copies.
constexpr const char* kBeforeTrees = R"(
  ALTER TABLE chats ADD COLUMN draft TEXT NOT NULL DEFAULT '';
  ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE chats ADD COLUMN deleted_unix_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE versions RENAME TO old_versions;
  ALTER TABLE messages RENAME TO old_messages;
  DROP INDEX messages_by_chat;
  DELETE FROM words;
)";
constexpr const char* kAfterTrees = R"(
  DROP TABLE old_versions;
  DROP TABLE old_messages;
  INSERT INTO words (rowid, body) SELECT id, text FROM messages;
  PRAGMA user_version = 2;
)";

/// Erases marked chats, messages that no path can reach, and the texts of marked messages, which stay only where other
/// messages follow them.
constexpr const char* kErase = R"(
  DELETE FROM words WHERE rowid IN (SELECT m.id FROM messages m JOIN chats c ON c.id = m.chat WHERE c.deleted_unix_ms > 0);
  DELETE FROM chats WHERE deleted_unix_ms > 0;
  CREATE TEMP TABLE reachable (id INTEGER PRIMARY KEY);
  INSERT INTO reachable WITH RECURSIVE
    open (id, chat, parent) AS (
      SELECT id, chat, parent FROM messages m WHERE deleted_unix_ms = 0 OR NOT EXISTS (
        SELECT 1 FROM messages s WHERE s.chat = m.chat AND s.parent = m.parent AND s.deleted_unix_ms = 0)),
    walk (id, chat) AS (
      SELECT id, chat FROM open WHERE parent = 0
      UNION SELECT open.id, open.chat FROM walk JOIN open ON open.chat = walk.chat AND open.parent = walk.id)
    SELECT id FROM walk;
  DELETE FROM words WHERE rowid NOT IN (SELECT id FROM reachable);
  DELETE FROM messages WHERE id NOT IN (SELECT id FROM reachable);
  DROP TABLE reachable;
  UPDATE messages SET text = '', footer_json = '' WHERE deleted_unix_ms > 0;
  DELETE FROM messages WHERE deleted_unix_ms > 0 AND NOT EXISTS (
    SELECT 1 FROM messages s WHERE s.chat = messages.chat AND s.parent = messages.id);
)";

Result<std::int64_t> number(Database& database, std::string_view sql) {
  LATHE_TRY(Statement statement, database.prepare(sql));
  LATHE_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

tl::unexpected<engine::Error> unusable(std::string why) {
  return engine::fail(ErrorCode::invalid_argument, std::move(why), "history");
}

Result<void> check_integrity(Database& database) {
  LATHE_TRY(Statement statement, database.prepare("PRAGMA quick_check(1)"));
  LATHE_TRY(const bool row, statement.step());
  if (!row || statement.text(0) != "ok") return unusable(row ? statement.text(0) : "quick_check gave no result");
  return {};
}

/// Prepares one query for each table: a file with other columns is foreign.
Result<void> check_columns(Database& database) {
  for (const char* query : {"SELECT id, title, folder, updated_unix_ms, draft, pinned, deleted_unix_ms FROM chats",
                            "SELECT id, chat, parent, role, text, footer_json, partial, rank, deleted_unix_ms FROM messages",
                            "SELECT rowid, body FROM words WHERE words MATCH 'a'"}) {
    if (const Result<Statement> statement = database.prepare(query); !statement) return unusable(statement.error().message);
  }
  return {};
}

/// Makes a message of each version. The message after it follows the version that was shown, which has the highest rank.
Result<void> make_trees(Database& database) {
  LATHE_TRY(Statement rows,
            database.prepare("SELECT m.chat, m.id, m.role, m.current, v.number, v.text, v.footer_json, v.partial, "
                             "count(*) OVER (PARTITION BY m.id) FROM old_messages m JOIN old_versions v ON v.message = m.id "
                             "ORDER BY m.chat, m.position, m.id, v.number"));
  std::int64_t chat = 0, message = 0, parent = 0, next_parent = 0, number = 0;
  while (true) {
    LATHE_TRY(const bool row, rows.step());
    if (!row) return {};
    if (rows.integer(0) != chat) next_parent = 0;
    if (rows.integer(1) != message) parent = next_parent, number = 0;
    chat = rows.integer(0);
    message = rows.integer(1);
    const std::int64_t n_versions = rows.integer(8);
    const bool is_shown = number == std::clamp<std::int64_t>(rows.integer(3), 0, n_versions - 1);
    LATHE_TRY(Statement insert,
              database.prepare("INSERT INTO messages (chat, parent, role, text, footer_json, partial, rank) "
                               "VALUES (?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(chat).bind(parent).bind(rows.text(2)).bind(rows.text(5)).bind(rows.text(6));
    LATHE_TRY_VOID(insert.bind(rows.integer(7)).bind(is_shown ? n_versions : number).run());
    if (is_shown) next_parent = database.last_id();
    ++number;
  }
}

Result<void> migrate(Database& database) {
  for (const char* query :
       {"SELECT id, title, folder, updated_unix_ms FROM chats", "SELECT id, chat, position, role, current FROM messages",
        "SELECT message, number, text, footer_json, partial FROM versions", "SELECT rowid, body FROM words"}) {
    if (const Result<Statement> statement = database.prepare(query); !statement) return unusable(statement.error().message);
  }
  LATHE_TRY(Transaction transaction, Transaction::begin(database));
  LATHE_TRY_VOID(database.execute(kBeforeTrees));
  LATHE_TRY_VOID(database.execute(kMessages));
  LATHE_TRY_VOID(make_trees(database));
  LATHE_TRY_VOID(database.execute(kAfterTrees));
  return transaction.commit();
}

Result<void> erase_marked(Database& database) {
  LATHE_TRY(const std::int64_t any, number(database,
                                           "SELECT EXISTS (SELECT 1 FROM messages WHERE deleted_unix_ms > 0) OR "
                                           "EXISTS (SELECT 1 FROM chats WHERE deleted_unix_ms > 0)"));
  if (any == 0) return {};
  LATHE_TRY(Transaction transaction, Transaction::begin(database));
  LATHE_TRY_VOID(database.execute(kErase));
  return transaction.commit();
}

}  // namespace

Result<void> prepare_history_schema(Database& database) {
  LATHE_TRY_VOID(check_integrity(database));
  LATHE_TRY(const std::int64_t version, number(database, "PRAGMA user_version"));
  LATHE_TRY(const std::int64_t n_objects, number(database, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && n_objects == 0) {
    LATHE_TRY(Transaction transaction, Transaction::begin(database));
    LATHE_TRY_VOID(database.execute(std::string(kSchema) + kMessages));
    return transaction.commit();
  }
  if (version < 1 || version > kVersion)
    return unusable(fmt::format("it has version {}, but this program writes version {}", version, kVersion));
  LATHE_TRY(const std::int64_t n_code,
            number(database, "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"));
  if (n_code != 0) return unusable(fmt::format("it has {} triggers or views, which Lathe never creates", n_code));
  if (version == 1) LATHE_TRY_VOID(migrate(database));
  LATHE_TRY_VOID(check_columns(database));
  return erase_marked(database);
}

}  // namespace lathe::app
