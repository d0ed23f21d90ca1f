// SPDX-License-Identifier: Apache-2.0
#include "app/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

/// Time for which a statement waits while another process writes.
constexpr int kBusyMs = 2000;

/// Returns a separate code for a file that is damaged or no database: only such a file is set aside.
tl::unexpected<engine::Error> failed(sqlite3* connection) {
  const int code = sqlite3_errcode(connection);
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  return engine::fail(damaged ? ErrorCode::invalid_argument : ErrorCode::internal, sqlite3_errmsg(connection), "history");
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Statement& Statement::bind(std::int64_t value) & {
  sqlite3_bind_int64(statement_.get(), ++n_bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view value) & {
  // The data of an empty view may be null, which SQLite would read as NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_text64(statement_.get(), ++n_bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failed(connection_);
}

Result<void> Statement::run() {
  LATHE_TRY([[maybe_unused]] const bool row, step());
  return {};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const auto n = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return data == nullptr ? std::string() : std::string(data, n);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& file) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(raw));
  if (code != SQLITE_OK) {
    if (raw != nullptr) return failed(raw);
    return engine::fail(ErrorCode::resource_exhausted, "not enough memory for the database", "history");
  }
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  sqlite3_busy_timeout(raw, kBusyMs);
  LATHE_TRY_VOID(database->execute("PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"));
  // TRUNCATE instead of DELETE saves one directory operation per commit.
  LATHE_TRY_VOID(database->execute("PRAGMA journal_mode = TRUNCATE"));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return failed(connection_.get());
  }
  return Statement(connection_.get(), statement);
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed(connection_.get());
  return {};
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

Result<Transaction> Transaction::begin(Database& database) {
  // IMMEDIATE: a conflict with another process shows here and not in the middle.
  LATHE_TRY_VOID(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  LATHE_TRY_VOID(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace lathe::app
