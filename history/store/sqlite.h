// SPDX-License-Identifier: Apache-2.0
// SQLite, as little of it as is needed: a connection and a statement that close themselves, errors
// as values.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace jetmem {

struct CloseSqlite {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using SqliteHandle = std::unique_ptr<sqlite3, CloseSqlite>;

// "write: disk full (No space left on device)". Its code is that of HistoryStore::write().
Error sqlite_error(sqlite3* db, std::string_view doing);

// For a file that may be somebody else's: nothing in its schema runs or is written, and no text or
// row is larger than jetmem's.
void harden(sqlite3* db);

// A statement, its values bound in order. Texts and blobs are to outlive the step.
class Query {
 public:
  Query(sqlite3* db, std::string_view sql);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { sqlite3_finalize(statement_); }

  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);
  Query& bind_blob(std::string_view blob);
  Query& bind_null();

  // The next row: true; the end: false.
  Result<bool> next();
  // For a statement without rows: runs it, and it can be bound again.
  Result<void> run();

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_null(int column) const;
  // Valid until the next step.
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int code_;
  int bound_ = 0;
};

// One or several statements without values.
Result<void> run_sql(sqlite3* db, const std::string& sql);
// The first number of the first row.
Result<std::int64_t> query_number(sqlite3* db, std::string_view sql);

// Rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(sqlite3* db, bool to_write);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(sqlite3* db) : db_(db) {}
  sqlite3* db_;
};

}  // namespace jetmem
