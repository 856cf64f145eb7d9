// SPDX-License-Identifier: Apache-2.0
#include "history/store/schema.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/try.h"
#include "history/store/sqlite.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

// Files hold this very text, which check_tables() compares: a change of it, blanks included, needs
// a new schema.
//
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

constexpr std::int64_t kPageSize = 4096;
// Of jetmem's tables, indexes of their keys and sqlite_sequence included.
constexpr std::size_t kMostObjects = 64;

struct Object {
  std::string type;
  std::string name;
  std::string rest;
  bool operator==(const Object&) const = default;
};

// What a database consists of.
Result<std::vector<Object>> objects_of(sqlite3* db, std::string_view name) {
  Query query(db, "SELECT type, name, tbl_name, ifnull(sql, ''), rootpage > 0 FROM " +
                      std::string(name) + ".sqlite_master ORDER BY name LIMIT " +
                      std::to_string(kMostObjects));
  std::vector<Object> out;
  for (;;) {
    JETMEM_ASSIGN(const auto row, query.next());
    if (!row) return out;
    out.push_back({std::string(query.text(0)), std::string(query.text(1)),
                   std::string(query.text(2)) + '\n' + std::string(query.text(3)) +
                       (query.number(4) != 0 ? "\nstored" : "\nnot stored")});
  }
}

// Those of a file that this jetmem makes: SQLite writes them as it writes them into the file.
Result<std::vector<Object>> expected_objects() {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  const SqliteHandle db(opened);
  if (code != SQLITE_OK) return tl::unexpected(sqlite_error(opened, "open a database in memory"));
  JETMEM_TRY(run_sql(opened, kTables));
  return objects_of(opened, "main");
}

Result<void> check_format(sqlite3* db, std::string_view name) {
  const std::string pragma = "PRAGMA " + std::string(name) + ".";
  JETMEM_ASSIGN(const auto page, query_number(db, pragma + "page_size"));
  if (page != kPageSize) {
    return fail(Errc::kMalformed, "pages of " + std::to_string(page) + " bytes, expected " +
                                      std::to_string(kPageSize));
  }
  Query encoding(db, pragma + "encoding");
  JETMEM_ASSIGN(const auto has_encoding, encoding.next());
  if (!has_encoding || encoding.text(0) != "UTF-8") {
    return fail(Errc::kMalformed, "its texts are not UTF-8");
  }
  return {};
}

}  // namespace

Result<void> create_tables(sqlite3* db) {
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db, true));
  JETMEM_TRY(run_sql(db, kTables));
  JETMEM_TRY(run_sql(db, "PRAGMA user_version=" + std::to_string(HistoryStore::kSchema) +
                             ";PRAGMA application_id=" + std::to_string(kApplicationId)));
  return transaction.commit();
}

Result<void> check_tables(sqlite3* db, std::string_view name) {
  JETMEM_ASSIGN(const auto found, objects_of(db, name));
  JETMEM_ASSIGN(const auto expected, expected_objects());
  if (found != expected) {
    return fail(Errc::kMalformed, "its tables are not exactly those that jetmem makes");
  }
  return check_format(db, name);
}

Result<void> drop_additions(sqlite3* db, std::vector<std::string>& messages) {
  JETMEM_ASSIGN(const auto found, objects_of(db, "main"));
  JETMEM_ASSIGN(const auto expected, expected_objects());
  for (const Object& each : found) {
    if (std::find(expected.begin(), expected.end(), each) != expected.end()) continue;
    const bool is_statistics = each.type == "table" && each.name.starts_with("sqlite_stat");
    const bool has_data = each.type == "table" && !is_statistics;
    // That of a key goes with its table.
    if (has_data || each.name.starts_with("sqlite_autoindex_")) continue;
    std::string quoted;
    for (const char c : each.name) quoted.append(c == '"' ? 2 : 1, c);
    JETMEM_TRY(run_sql(db, "DROP " + each.type + " IF EXISTS \"" + quoted + "\""));
    messages.push_back("the history has jetmem's own tables only: removed the " + each.type + " " +
                       each.name);
  }
  for (const Object& each : expected) {
    if (std::find(found.begin(), found.end(), each) != found.end()) continue;
    return fail(Errc::kMalformed,
                "its " + each.type + " " + each.name + " is not as jetmem makes it");
  }
  return check_format(db, "main");
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
