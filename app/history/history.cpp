// SPDX-License-Identifier: Apache-2.0
#include "app/api/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "app/history/schema.h"
#include "app/settings/set_aside.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Result;

constexpr const char* kInMemory = ":memory:";
constexpr int kMaxHits = 500;

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// Converts a user's text to a query: all words must occur, each may be a prefix. No part of the text is read as query
/// syntax.
std::string match_expression(const std::string& words) {
  std::string expression, word;
  const auto close_word = [&] {
    if (!word.empty()) expression += (expression.empty() ? "\"" : " \"") + std::exchange(word, {}) + "\"*";
  };
  for (const char c : words) {
    const bool separates = static_cast<unsigned char>(c) <= ' ' || c == '"';
    if (separates) close_word();
    else word += c;
  }
  close_word();
  return expression;
}

tl::unexpected<engine::Error> no_such(const char* what, std::int64_t id) {
  return engine::fail(ErrorCode::not_found, fmt::format("there is no {} {}", what, id), "history");
}

class SqliteHistory final : public History {
 public:
  SqliteHistory(std::unique_ptr<Database> database, std::string problem)
      : database_(std::move(database)), problem_(std::move(problem)) {}

  std::vector<ChatSummary> chats() const override {
    const std::lock_guard lock(mutex_);
    Result<Statement> statement = database_->prepare(kSelectChats + std::string(" ORDER BY updated_unix_ms DESC, id DESC"));
    return statement ? summaries(*statement) : std::vector<ChatSummary>();
  }

  std::vector<ChatSummary> search(const std::string& words) const override {
    const std::string expression = match_expression(words);
    if (expression.empty()) return chats();
    const std::lock_guard lock(mutex_);
    Result<Statement> statement = database_->prepare(
        kSelectChats + std::string(" WHERE instr(lower(title), lower(trim(?))) > 0 OR id IN (SELECT m.chat FROM words w "
                                   "JOIN messages m ON m.id = w.rowid WHERE words MATCH ?) "
                                   "ORDER BY updated_unix_ms DESC, id DESC LIMIT ?"));
    if (!statement) return {};
    statement->bind(words).bind(expression).bind(kMaxHits);
    return summaries(*statement);
  }

  Result<std::int64_t> create_chat(const std::string& title) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement insert, database_->prepare("INSERT INTO chats (title, updated_unix_ms) VALUES (?, ?)"));
    LATHE_TRY_VOID(insert.bind(title).bind(now_ms()).run());
    return database_->last_id();
  }

  Result<void> rename_chat(std::int64_t chat, const std::string& title) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement update, database_->prepare("UPDATE chats SET title = ? WHERE id = ? RETURNING id"));
    LATHE_TRY(const bool found, update.bind(title).bind(chat).step());
    if (!found) return no_such("chat", chat);
    return update.run();
  }

  Result<void> delete_chat(std::int64_t chat) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY(Statement words,
              database_->prepare("DELETE FROM words WHERE rowid IN (SELECT id FROM messages WHERE chat = ?)"));
    LATHE_TRY_VOID(words.bind(chat).run());
    LATHE_TRY(Statement chats, database_->prepare("DELETE FROM chats WHERE id = ?"));
    LATHE_TRY_VOID(chats.bind(chat).run());
    return transaction.commit();
  }

  Result<std::vector<StoredMessage>> messages(std::int64_t chat) const override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(
        Statement rows,
        database_->prepare("SELECT m.id, m.role, m.current, v.text, v.footer_json, v.partial FROM messages m "
                           "JOIN versions v ON v.message = m.id WHERE m.chat = ? ORDER BY m.position, m.id, v.number"));
    rows.bind(chat);
    std::vector<StoredMessage> messages;
    while (true) {
      LATHE_TRY(const bool row, rows.step());
      if (!row) break;
      if (messages.empty() || messages.back().id != rows.integer(0)) {
        messages.push_back({rows.integer(0), rows.text(1), {}, static_cast<int>(rows.integer(2))});
      }
      messages.back().versions.push_back({rows.text(3), rows.text(4), rows.integer(5) != 0});
    }
    for (StoredMessage& message : messages) {
      message.current = std::clamp(message.current, 0, static_cast<int>(message.versions.size()) - 1);
    }
    return messages;
  }

  Result<std::int64_t> add_message(std::int64_t chat, const StoredMessage& message, std::int64_t after) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    LATHE_TRY(const std::int64_t position, make_room(chat, after));
    LATHE_TRY(Statement insert,
              database_->prepare("INSERT INTO messages (chat, position, role, current) VALUES (?, ?, ?, ?)"));
    LATHE_TRY_VOID(insert.bind(chat).bind(position).bind(message.role).bind(message.current).run());
    const std::int64_t id = database_->last_id();
    LATHE_TRY_VOID(write_versions(id, message));
    LATHE_TRY_VOID(transaction.commit());
    return id;
  }

  Result<void> update_message(std::int64_t chat, const StoredMessage& message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    {
      LATHE_TRY(Statement update,
                database_->prepare("UPDATE messages SET role = ?, current = ? WHERE id = ? AND chat = ? RETURNING id"));
      LATHE_TRY(const bool found, update.bind(message.role).bind(message.current).bind(message.id).bind(chat).step());
      if (!found) return no_such("message", message.id);
    }
    LATHE_TRY_VOID(forget_text(message.id));
    LATHE_TRY_VOID(write_versions(message.id, message));
    return transaction.commit();
  }

  Result<void> delete_message(std::int64_t chat, std::int64_t message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    {
      LATHE_TRY(Statement row, database_->prepare("DELETE FROM messages WHERE id = ? AND chat = ? RETURNING id"));
      LATHE_TRY(const bool found, row.bind(message).bind(chat).step());
      if (!found) return no_such("message", message);
    }
    LATHE_TRY_VOID(forget_text(message));
    return transaction.commit();
  }

  std::string problem() const override { return problem_; }

 private:
  static constexpr const char* kSelectChats =
      "SELECT id, title, folder, updated_unix_ms, (SELECT count(*) FROM messages WHERE chat = chats.id) FROM chats";

  static std::vector<ChatSummary> summaries(Statement& rows) {
    std::vector<ChatSummary> list;
    for (Result<bool> row = rows.step(); row && *row; row = rows.step()) {
      list.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.integer(3), static_cast<int>(rows.integer(4))});
    }
    return list;
  }

  // ---- called inside a transaction, with mutex_ locked

  Result<void> touch(std::int64_t chat) {
    LATHE_TRY(Statement update, database_->prepare("UPDATE chats SET updated_unix_ms = ? WHERE id = ? RETURNING id"));
    LATHE_TRY(const bool found, update.bind(now_ms()).bind(chat).step());
    if (!found) return no_such("chat", chat);
    return update.run();
  }

  /// Returns the position after message `after`; all later messages move up by one.
  Result<std::int64_t> make_room(std::int64_t chat, std::int64_t after) {
    LATHE_TRY(Statement query, after == -1
                                   ? database_->prepare("SELECT coalesce(max(position), 0) FROM messages WHERE chat = ?1")
                                   : database_->prepare("SELECT position FROM messages WHERE chat = ?1 AND id = ?2 "
                                                        "UNION ALL SELECT 0 WHERE ?2 = 0"));
    query.bind(chat);
    if (after != -1) query.bind(after);
    LATHE_TRY(const bool found, query.step());
    if (!found) return no_such("message", after);
    const std::int64_t position = query.integer(0) + 1;
    LATHE_TRY(Statement shift,
              database_->prepare("UPDATE messages SET position = position + 1 WHERE chat = ? AND position >= ?"));
    LATHE_TRY_VOID(shift.bind(chat).bind(position).run());
    return position;
  }

  Result<void> forget_text(std::int64_t message) {
    for (const char* sql : {"DELETE FROM versions WHERE message = ?", "DELETE FROM words WHERE rowid = ?"}) {
      LATHE_TRY(Statement remove, database_->prepare(sql));
      LATHE_TRY_VOID(remove.bind(message).run());
    }
    return {};
  }

  Result<void> write_versions(std::int64_t id, const StoredMessage& message) {
    const auto n = static_cast<std::int64_t>(message.versions.size());
    if (n == 0 || message.current < 0 || message.current >= n) {
      return engine::fail(ErrorCode::invalid_argument,
                          fmt::format("message {} shows version {} of {}", id, message.current, n), "history");
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const MessageVersion& version = message.versions[static_cast<std::size_t>(i)];
      LATHE_TRY(Statement insert, database_->prepare("INSERT INTO versions VALUES (?, ?, ?, ?, ?)"));
      LATHE_TRY_VOID(
          insert.bind(id).bind(i).bind(version.text).bind(version.footer_json).bind(version.partial ? 1 : 0).run());
    }
    LATHE_TRY(Statement words, database_->prepare("INSERT INTO words (rowid, body) VALUES (?, ?)"));
    return words.bind(id).bind(message.versions[static_cast<std::size_t>(message.current)].text).run();
  }

  mutable std::mutex mutex_;
  std::unique_ptr<Database> database_;
  const std::string problem_;
};

Result<std::unique_ptr<Database>> open_checked(const std::string& file) {
  LATHE_TRY(std::unique_ptr<Database> database, Database::open(file));
  LATHE_TRY_VOID(prepare_history_schema(*database));
  return database;
}

/// Moves the journal together with the file that is set aside: SQLite would otherwise apply it to the new file.
std::string set_database_aside(const std::string& file) {
  const std::string kept = set_aside(file);
  std::error_code error;
  if (!kept.empty()) fs::rename(file + "-journal", kept + "-journal", error);
  return kept;
}

}  // namespace

Result<std::unique_ptr<History>> open_history(const std::string& file) {
  std::string problem;
  Result<std::unique_ptr<Database>> database;
  std::error_code error;
  if (file != kInMemory) fs::create_directories(fs::path(file).parent_path(), error);
  if (fs::is_directory(file, error)) {
    database = engine::fail(ErrorCode::invalid_argument, "it is a folder", "history");
  } else {
    database = open_checked(file);
  }
  if (!database && database.error().code == ErrorCode::invalid_argument && file != kInMemory) {
    problem = fmt::format("The chat history could not be opened: {}. ", database.error().message);
    const std::string kept = set_database_aside(file);
    problem += kept.empty() ? "Its file could not be moved away." : "It is kept as " + kept + "; a new one was started.";
    database = open_checked(file);
  }
  if (!database && file != kInMemory) {
    problem += fmt::format("Chats will not be saved: {} ({}).", database.error().message, file);
    database = open_checked(kInMemory);
  }
  LATHE_TRY(std::unique_ptr<Database> usable, std::move(database));
  return std::make_unique<SqliteHistory>(std::move(usable), std::move(problem));
}

}  // namespace lathe::app
