// SPDX-License-Identifier: Apache-2.0
#include "app/history/schema.h"

#include <fmt/format.h>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::int64_t kVersion = 1;

/// Schema of version 1. The table `words` holds the shown text of each message, with the message's id, for the search.
constexpr const char* kSchema = R"(
  CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    folder TEXT NOT NULL DEFAULT '',
    updated_unix_ms INTEGER NOT NULL);
  CREATE INDEX chats_by_time ON chats (updated_unix_ms DESC, id DESC);
  CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    current INTEGER NOT NULL DEFAULT 0);
  CREATE INDEX messages_by_chat ON messages (chat, position);
  CREATE TABLE versions (
    message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    footer_json TEXT NOT NULL,
    partial INTEGER NOT NULL,
    PRIMARY KEY (message, number)) WITHOUT ROWID;
  CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'unicode61 remove_diacritics 2');
  PRAGMA user_version = 1;
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
  for (const char* query :
       {"SELECT id, title, folder, updated_unix_ms FROM chats", "SELECT id, chat, position, role, current FROM messages",
        "SELECT message, number, text, footer_json, partial FROM versions",
        "SELECT rowid, body FROM words WHERE words MATCH 'a'"}) {
    if (const Result<Statement> statement = database.prepare(query); !statement) return unusable(statement.error().message);
  }
  return {};
}

}  // namespace

Result<void> prepare_history_schema(Database& database) {
  LATHE_TRY_VOID(check_integrity(database));
  LATHE_TRY(const std::int64_t version, number(database, "PRAGMA user_version"));
  LATHE_TRY(const std::int64_t n_objects, number(database, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && n_objects == 0) {
    LATHE_TRY(Transaction transaction, Transaction::begin(database));
    LATHE_TRY_VOID(database.execute(kSchema));
    return transaction.commit();
  }
  if (version != kVersion)
    return unusable(fmt::format("it has version {}, but this program writes version {}", version, kVersion));
  LATHE_TRY(const std::int64_t n_code,
            number(database, "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"));
  if (n_code != 0) return unusable(fmt::format("it has {} triggers or views, which Lathe never creates", n_code));
  return check_columns(database);
}

}  // namespace lathe::app
