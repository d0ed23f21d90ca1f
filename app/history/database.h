// SPDX-License-Identifier: Apache-2.0
// SQLite connection that treats its file as untrusted, and prepared statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/api/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::app {

/// A prepared statement. bind() numbers parameters from 1 in the order of calls. Errors are returned by step() or run().
class Statement {
 public:
  Statement(sqlite3* connection, sqlite3_stmt* statement) : connection_(connection), statement_(statement) {}

  Statement& bind(std::int64_t value) &;
  Statement& bind(std::string_view value) &;
  /// Advances to the next row; false after the last one.
  engine::Result<bool> step();
  /// Executes a statement without rows.
  engine::Result<void> run();
  std::int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int n_bound_ = 0;
};

class Database {
 public:
  /// Opens or creates a database with DEFENSIVE, no trusted schema, no triggers or views, cell size checks, a rollback
  /// journal, and synchronous FULL: commits survive a kill and a power failure.
  static engine::Result<std::unique_ptr<Database>> open(const std::string& file);

  engine::Result<Statement> prepare(std::string_view sql) const;
  /// Executes statements without parameters and rows.
  engine::Result<void> execute(const std::string& sql);
  std::int64_t last_id() const;
  sqlite3* connection() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A transaction, rolled back by its destructor unless commit() was called.
class Transaction {
 public:
  static engine::Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  engine::Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace lathe::app
