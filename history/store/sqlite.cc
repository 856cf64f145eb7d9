// SPDX-License-Identifier: Apache-2.0
#include "history/store/sqlite.h"

#include <cerrno>
#include <cstring>

#include "base/text/text.h"
#include "base/try.h"

namespace jetmem {
namespace {

Errc errc_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return Errc::kTooLarge;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Errc::kDenied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Errc::kMalformed;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::kUnavailable;
    default:
      return Errc::kIo;
  }
}

std::string_view name_of(Errc code) {
  switch (code) {
    case Errc::kTooLarge:
      return "disk full";
    case Errc::kDenied:
      return "read-only";
    case Errc::kMalformed:
      return "damaged";
    case Errc::kUnavailable:
      return "busy";
    default:
      return "failed";
  }
}

// Of a text, a blob and a row; a chunk's are some hundred kilobytes at most.
constexpr int kMostLength = 1 << 20;
// Of a statement, and of each that made a table of the file.
constexpr int kMostSql = 16 << 10;
constexpr int kMostColumns = 64;

}  // namespace

void harden(sqlite3* db) {
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostLength);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMostSql);
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, kMostColumns);
  sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Error sqlite_error(sqlite3* db, std::string_view doing) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  Errc errc = errc_of(code);
  std::string why = db == nullptr ? "out of memory" : printable(sqlite3_errmsg(db));
  // What the kernel said is the better word where SQLite only knows that it failed.
  const int error = db == nullptr ? 0 : sqlite3_system_errno(db);
  const bool from_kernel = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  if (from_kernel && error != 0) {
    why += std::string(", ") + std::strerror(error);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      errc = Errc::kTooLarge;
    } else if (error == EROFS || error == EACCES || error == EPERM) {
      errc = Errc::kDenied;
    }
  }
  return Error{errc, std::string(doing) + ": " + std::string(name_of(errc)) + " (" + why + ")"};
}

Query::Query(sqlite3* db, std::string_view sql)
    : db_(db),
      code_(
          sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr)) {}

Query& Query::bind(std::int64_t value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Query& Query::bind(std::string_view text) {
  if (code_ != SQLITE_OK) return *this;
  // A null pointer would be NULL.
  code_ = sqlite3_bind_text(statement_, ++bound_, text.empty() ? "" : text.data(),
                            static_cast<int>(text.size()), SQLITE_STATIC);
  return *this;
}

Query& Query::bind_blob(std::string_view blob) {
  if (code_ != SQLITE_OK) return *this;
  code_ = sqlite3_bind_blob(statement_, ++bound_, blob.empty() ? "" : blob.data(),
                            static_cast<int>(blob.size()), SQLITE_STATIC);
  return *this;
}

Query& Query::bind_null() {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> Query::next() {
  if (code_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    code_ = code;
  }
  return tl::unexpected(sqlite_error(db_, "history"));
}

Result<void> Query::run() {
  for (;;) {
    const auto row = next();
    if (!row) {
      if (statement_ != nullptr) sqlite3_reset(statement_);
      return tl::unexpected(row.error());
    }
    if (!*row) break;
  }
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
  return {};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::string_view Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::blob(int column) const {
  const auto* blob = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (blob == nullptr) return {};
  return {blob, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<void> run_sql(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return tl::unexpected(sqlite_error(db, "history"));
}

Result<std::int64_t> query_number(sqlite3* db, std::string_view sql) {
  Query query(db, sql);
  JETMEM_ASSIGN(const auto row, query.next());
  return row ? query.number(0) : 0;
}

Result<Transaction> Transaction::begin(sqlite3* db, bool to_write) {
  JETMEM_TRY(run_sql(db, to_write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(db);
}

Transaction::~Transaction() {
  if (db_ != nullptr && sqlite3_get_autocommit(db_) == 0) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Result<void> Transaction::commit() {
  auto done = run_sql(db_, "COMMIT");
  if (done) db_ = nullptr;
  return done;
}

}  // namespace jetmem
