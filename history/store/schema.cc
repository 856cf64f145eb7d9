// SPDX-License-Identifier: Apache-2.0
#include "history/store/schema.h"

#include <array>
#include <string>

#include "base/try.h"
#include "history/store/sqlite.h"

namespace jetmem {
namespace {

// at, first, last, *_until: boot clock in ns. placed: where an event without a time of its own is
// sorted in. looks: the latest look at the clock for each degree of trust in it.
constexpr const char* kTables = R"(
CREATE TABLE facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE boots(number INTEGER PRIMARY KEY, boot_id TEXT NOT NULL UNIQUE,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  minutes_until INTEGER NOT NULL DEFAULT 0, quarters_until INTEGER NOT NULL DEFAULT 0);
CREATE TABLE looks(boot INTEGER NOT NULL, trust INTEGER NOT NULL, at INTEGER NOT NULL,
  offset INTEGER NOT NULL, PRIMARY KEY(boot, trust)) WITHOUT ROWID;
CREATE TABLE series(number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, counter INTEGER NOT NULL);
CREATE TABLE chunks(number INTEGER PRIMARY KEY, resolution INTEGER NOT NULL, boot INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, steps INTEGER NOT NULL,
  times BLOB NOT NULL, members BLOB NOT NULL);
CREATE TABLE raw(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE minutes(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE quarters(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE events(id INTEGER PRIMARY KEY AUTOINCREMENT, boot INTEGER NOT NULL,
  what INTEGER NOT NULL, kind TEXT NOT NULL, severity TEXT NOT NULL, origin TEXT NOT NULL,
  subject TEXT NOT NULL, summary TEXT NOT NULL, fields TEXT NOT NULL, at INTEGER, wall INTEGER,
  placed INTEGER NOT NULL, count INTEGER NOT NULL, until INTEGER);
)";

Result<void> create_tables(sqlite3* db) {
  JETMEM_ASSIGN(const auto tables, query_number(db, "SELECT count(*) FROM sqlite_master"));
  if (tables != 0) return fail(Errc::kMalformed, "tables without a schema number");
  return run_sql(db, kTables);
}

// 0.1.0 encoded values in another way: its events stay, its samples are dropped.
Result<void> drop_values_of_one(sqlite3* db) {
  return run_sql(db,
                 "DELETE FROM chunks; DELETE FROM raw; DELETE FROM minutes; DELETE FROM quarters;"
                 "DELETE FROM series; UPDATE boots SET minutes_until=0, quarters_until=0;");
}

constexpr std::array<SizeStep, 2> kLadder{create_tables, drop_values_of_one};

constexpr std::array<std::string_view, 9> kNames{"facts", "boots",   "looks",    "series", "chunks",
                                                 "raw",   "minutes", "quarters", "events"};

}  // namespace

std::span<const SizeStep> schema_ladder() { return kLadder; }

Result<bool> climb(sqlite3* db, std::span<const SizeStep> ladder) {
  JETMEM_ASSIGN(const auto version, query_number(db, "PRAGMA user_version"));
  const auto top = static_cast<std::int64_t>(ladder.size());
  if (version == top) return false;
  if (version < 0 || version > top) {
    return fail(Errc::kInvalid,
                "schema " + std::to_string(version) + ", expected at most " + std::to_string(top));
  }
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db, true));
  for (auto size_step = static_cast<std::size_t>(version); size_step < ladder.size(); ++size_step) {
    if (auto done = ladder[size_step](db); !done) {
      return tl::unexpected(
          std::move(done.error()).within("from schema " + std::to_string(size_step)));
    }
  }
  JETMEM_TRY(run_sql(db, "PRAGMA user_version=" + std::to_string(top) +
                             ";PRAGMA application_id=" + std::to_string(kApplicationId)));
  JETMEM_TRY(transaction.commit());
  return true;
}

Result<void> check_tables(sqlite3* db) {
  for (const std::string_view name : kNames) {
    Query query(db,
                "SELECT 1 FROM sqlite_master WHERE type='table' AND name=? AND rootpage>0 "
                "AND upper(sql) LIKE 'CREATE TABLE%'");
    JETMEM_ASSIGN(const auto row, query.bind(name).next());
    if (!row) return fail(Errc::kMalformed, "no table '" + std::string(name) + "'");
  }
  // Nothing else that would run by itself.
  JETMEM_ASSIGN(const auto others,
                query_number(db,
                             "SELECT count(*) FROM sqlite_master WHERE type IN ('view',"
                             "'trigger') OR rootpage IS NULL OR rootpage<=0"));
  if (others != 0) return fail(Errc::kMalformed, "views or triggers, expected none");
  return {};
}

const char* columns_table(Resolution resolution) {
  switch (resolution) {
    case Resolution::kMinute:
      return "minutes";
    case Resolution::kQuarter:
      return "quarters";
    case Resolution::kRaw:
      break;
  }
  return "raw";
}

}  // namespace jetmem
