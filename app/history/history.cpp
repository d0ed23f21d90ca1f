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
    Result<Statement> statement = database_->prepare(kSelectChats + std::string(kOrderChats));
    return statement ? summaries(*statement) : std::vector<ChatSummary>();
  }

  std::vector<ChatSummary> search(const std::string& words) const override {
    const std::string expression = match_expression(words);
    if (expression.empty()) return chats();
    const std::lock_guard lock(mutex_);
    Result<Statement> statement =
        database_->prepare(kSelectChats +
                           std::string(" AND (instr(lower(title), lower(trim(?))) > 0 OR id IN (SELECT m.chat FROM words w "
                                       "JOIN messages m ON m.id = w.rowid WHERE words MATCH ?))") +
                           kOrderChats + " LIMIT ?");
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

  Result<void> pin_chat(std::int64_t chat, bool pinned) override {
    const std::lock_guard lock(mutex_);
    return change_chat("UPDATE chats SET pinned = ? WHERE id = ? RETURNING id", pinned ? 1 : 0, chat);
  }

  Result<std::int64_t> copy_chat(std::int64_t chat, const std::string& title) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY(Statement insert,
              database_->prepare("INSERT INTO chats (title, folder, draft, updated_unix_ms) SELECT ?, folder, "
                                 "draft, ? FROM chats WHERE id = ? RETURNING id"));
    LATHE_TRY(const bool found, insert.bind(title).bind(now_ms()).bind(chat).step());
    if (!found) return no_such("chat", chat);
    const std::int64_t copy = insert.integer(0);
    LATHE_TRY_VOID(insert.run());
    LATHE_TRY_VOID(copy_messages(chat, copy));
    LATHE_TRY_VOID(transaction.commit());
    return copy;
  }

  Result<void> delete_chat(std::int64_t chat, bool deleted) override {
    const std::lock_guard lock(mutex_);
    return change_chat("UPDATE chats SET deleted_unix_ms = ? WHERE id = ? RETURNING id", deleted ? now_ms() : 0, chat);
  }

  Result<std::vector<StoredMessage>> messages(std::int64_t chat) const override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement rows,
              database_->prepare("SELECT id, parent, role, text, footer_json, partial, rank, deleted_unix_ms "
                                 "FROM messages WHERE chat = ? ORDER BY id"));
    rows.bind(chat);
    std::vector<StoredMessage> messages;
    while (true) {
      LATHE_TRY(const bool row, rows.step());
      if (!row) return messages;
      messages.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3), rows.text(4), rows.integer(5) != 0,
                          rows.integer(6), rows.integer(7) != 0});
    }
  }

  Result<std::int64_t> add_message(std::int64_t chat, const StoredMessage& message) override {
    LATHE_TRY(const std::vector<std::int64_t> ids, add_messages(chat, message.parent, {message}));
    return ids.front();
  }

  Result<std::vector<std::int64_t>> add_messages(std::int64_t chat, std::int64_t parent,
                                                 const std::vector<StoredMessage>& chain) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    LATHE_TRY_VOID(check_parent(chat, parent));
    std::vector<std::int64_t> ids;
    for (const StoredMessage& message : chain) {
      LATHE_TRY(parent, insert_row(chat, parent, message));
      ids.push_back(parent);
    }
    LATHE_TRY_VOID(transaction.commit());
    return ids;
  }

  Result<std::int64_t> insert_first(std::int64_t chat, const StoredMessage& message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    LATHE_TRY(const std::int64_t id, insert_row(chat, 0, message));
    LATHE_TRY(Statement follow,
              database_->prepare("UPDATE messages SET parent = ?1 WHERE chat = ?2 AND parent = 0 AND id != ?1"));
    LATHE_TRY_VOID(follow.bind(id).bind(chat).run());
    LATHE_TRY_VOID(transaction.commit());
    return id;
  }

  Result<void> update_message(std::int64_t chat, const StoredMessage& message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    {
      LATHE_TRY(Statement update, database_->prepare("UPDATE messages SET text = ?, footer_json = ?, partial = ? "
                                                     "WHERE id = ? AND chat = ? RETURNING id"));
      update.bind(message.text).bind(message.footer_json).bind(message.partial ? 1 : 0);
      LATHE_TRY(const bool found, update.bind(message.id).bind(chat).step());
      if (!found) return no_such("message", message.id);
    }
    LATHE_TRY_VOID(forget_words(message.id));
    LATHE_TRY_VOID(write_words(message.id, message.text));
    return transaction.commit();
  }

  Result<std::int64_t> show_message(std::int64_t chat, std::int64_t message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement update, database_->prepare("UPDATE messages SET rank = (SELECT max(rank) + 1 FROM messages WHERE "
                                                   "chat = ?1) WHERE id = ?2 AND chat = ?1 RETURNING rank"));
    LATHE_TRY(const bool found, update.bind(chat).bind(message).step());
    if (!found) return no_such("message", message);
    const std::int64_t rank = update.integer(0);
    LATHE_TRY_VOID(update.run());
    return rank;
  }

  Result<void> delete_messages(std::int64_t chat, const std::vector<std::int64_t>& messages, bool deleted) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    const std::int64_t when = deleted ? now_ms() : 0;
    for (const std::int64_t message : messages) {
      std::string text;
      {
        LATHE_TRY(Statement mark, database_->prepare("UPDATE messages SET deleted_unix_ms = ? WHERE id = ? AND chat = ? "
                                                     "RETURNING text"));
        LATHE_TRY(const bool found, mark.bind(when).bind(message).bind(chat).step());
        if (!found) return no_such("message", message);
        text = mark.text(0);
      }
      LATHE_TRY_VOID(forget_words(message));
      if (!deleted) LATHE_TRY_VOID(write_words(message, text));
    }
    return transaction.commit();
  }

  Result<void> erase_message(std::int64_t chat, std::int64_t message) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(*database_));
    LATHE_TRY_VOID(touch(chat));
    {
      LATHE_TRY(Statement child, database_->prepare("SELECT 1 FROM messages WHERE chat = ? AND parent = ? LIMIT 1"));
      LATHE_TRY(const bool followed, child.bind(chat).bind(message).step());
      if (followed) return engine::fail(ErrorCode::conflict, fmt::format("messages follow message {}", message), "history");
    }
    {
      LATHE_TRY(Statement row, database_->prepare("DELETE FROM messages WHERE id = ? AND chat = ? RETURNING id"));
      LATHE_TRY(const bool found, row.bind(message).bind(chat).step());
      if (!found) return no_such("message", message);
    }
    LATHE_TRY_VOID(forget_words(message));
    return transaction.commit();
  }

  Result<std::string> draft(std::int64_t chat) const override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement query, database_->prepare("SELECT draft FROM chats WHERE id = ?"));
    LATHE_TRY(const bool found, query.bind(chat).step());
    if (!found) return no_such("chat", chat);
    return query.text(0);
  }

  Result<void> set_draft(std::int64_t chat, const std::string& text) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement update, database_->prepare("UPDATE chats SET draft = ? WHERE id = ? RETURNING id"));
    LATHE_TRY(const bool found, update.bind(text).bind(chat).step());
    if (!found) return no_such("chat", chat);
    return update.run();
  }

  std::string problem() const override { return problem_; }

 private:
  static constexpr const char* kSelectChats =
      "SELECT id, title, folder, updated_unix_ms, (SELECT count(*) FROM messages WHERE chat = chats.id AND deleted_unix_ms "
      "= 0), pinned FROM chats WHERE deleted_unix_ms = 0";
  static constexpr const char* kOrderChats = " ORDER BY pinned DESC, updated_unix_ms DESC, id DESC";

  static std::vector<ChatSummary> summaries(Statement& rows) {
    std::vector<ChatSummary> list;
    for (Result<bool> row = rows.step(); row && *row; row = rows.step()) {
      list.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.integer(3), static_cast<int>(rows.integer(4)),
                      rows.integer(5) != 0});
    }
    return list;
  }

  // ---- called with mutex_ locked

  Result<void> change_chat(const char* sql, std::int64_t value, std::int64_t chat) {
    LATHE_TRY(Statement update, database_->prepare(sql));
    LATHE_TRY(const bool found, update.bind(value).bind(chat).step());
    if (!found) return no_such("chat", chat);
    return update.run();
  }

  Result<void> touch(std::int64_t chat) {
    return change_chat("UPDATE chats SET updated_unix_ms = ? WHERE id = ? RETURNING id", now_ms(), chat);
  }

  Result<void> check_parent(std::int64_t chat, std::int64_t parent) {
    if (parent == 0) return {};
    LATHE_TRY(Statement query, database_->prepare("SELECT 1 FROM messages WHERE id = ? AND chat = ?"));
    LATHE_TRY(const bool found, query.bind(parent).bind(chat).step());
    if (!found) return no_such("message", parent);
    return {};
  }

  Result<std::int64_t> insert_row(std::int64_t chat, std::int64_t parent, const StoredMessage& message) {
    LATHE_TRY(
        Statement insert,
        database_->prepare("INSERT INTO messages (chat, parent, role, text, footer_json, partial, rank) SELECT ?1, ?2, "
                           "?3, ?4, ?5, ?6, coalesce(max(rank), 0) + 1 FROM messages WHERE chat = ?1"));
    insert.bind(chat).bind(parent).bind(message.role).bind(message.text).bind(message.footer_json);
    LATHE_TRY_VOID(insert.bind(message.partial ? 1 : 0).run());
    const std::int64_t id = database_->last_id();
    LATHE_TRY_VOID(write_words(id, message.text));
    return id;
  }

  /// Each new id is the old one and a distance, by which it is higher than all ids that were ever given.
  Result<void> copy_messages(std::int64_t from, std::int64_t to) {
    LATHE_TRY(Statement offset,
              database_->prepare("SELECT seq + 1 - (SELECT coalesce(min(id), 1) FROM messages WHERE chat = ?) "
                                 "FROM sqlite_sequence WHERE name = 'messages'"));
    LATHE_TRY(const bool any, offset.bind(from).step());
    if (!any) return {};
    const std::int64_t distance = offset.integer(0);
    LATHE_TRY(Statement copy,
              database_->prepare("INSERT INTO messages (id, chat, parent, role, text, footer_json, partial, rank, "
                                 "deleted_unix_ms) SELECT id + ?1, ?2, iif(parent = 0, 0, parent + ?1), role, text, "
                                 "footer_json, partial, rank, deleted_unix_ms FROM messages WHERE chat = ?3"));
    LATHE_TRY_VOID(copy.bind(distance).bind(to).bind(from).run());
    LATHE_TRY(Statement words,
              database_->prepare("INSERT INTO words (rowid, body) SELECT id, text FROM messages WHERE chat = ? "
                                 "AND deleted_unix_ms = 0"));
    return words.bind(to).run();
  }

  Result<void> forget_words(std::int64_t message) {
    LATHE_TRY(Statement remove, database_->prepare("DELETE FROM words WHERE rowid = ?"));
    return remove.bind(message).run();
  }

  Result<void> write_words(std::int64_t message, const std::string& text) {
    LATHE_TRY(Statement words, database_->prepare("INSERT INTO words (rowid, body) VALUES (?, ?)"));
    return words.bind(message).bind(text).run();
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
