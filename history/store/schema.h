// SPDX-License-Identifier: Apache-2.0
// The tables of the recorder's database.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "history/history.h"

namespace jetmem {

// "JMEM", in the file's header: a database that is none of ours is never touched as one.
inline constexpr std::int64_t kApplicationId = 0x4a4d454d;

// In a file without any: all of them and the schema's number, or nothing.
Result<void> create_tables(sqlite3* db);

// The database `name` of the connection ("main", or as attached) holds the tables that jetmem
// makes, by their very text, in its page size and encoding, and nothing else: no index, view,
// trigger or generated column of whoever made the file runs. To be called before anything is asked
// of it.
Result<void> check_tables(sqlite3* db, std::string_view name = "main");

// The same of the file that is written to, where somebody has run ANALYZE or added an index, a view
// or a trigger: they are removed, with a message each. Further tables stay; none is ever asked.
Result<void> drop_additions(sqlite3* db, std::vector<std::string>& messages);

// "raw", "minutes", "quarters": where columns of that resolution lie. Their rows are keyed
// (chunk << 24 | series), so that those of a chunk are neighbours.
const char* columns_table(Resolution resolution);
inline constexpr int kSeriesBits = 24;
inline constexpr std::int64_t kMaxSeriesNumber = (std::int64_t{1} << kSeriesBits) - 1;
inline std::int64_t column_id(std::int64_t chunk, std::int64_t series) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(chunk) << kSeriesBits) | series;
}

}  // namespace jetmem
