// SPDX-License-Identifier: Apache-2.0
#include "history/store/chunks.h"

#include <cmath>

#include "base/try.h"
#include "history/format/bytes.h"
#include "history/format/column.h"
#include "history/store/schema.h"
#include "history/store/sqlite.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

// Half an hour each for 60 days, a hundred times over.
constexpr std::size_t kMaxChunks = 300'000;

tl::unexpected<Error> damaged_chunk(const ChunkHead& chunk, std::string_view what) {
  return fail(Errc::kMalformed, "chunk " + std::to_string(chunk.number) + ": " + std::string(what));
}

Result<std::string> blob_of(sqlite3* db, std::string_view sql, std::int64_t key) {
  Query query(db, sql);
  JETMEM_ASSIGN(const auto row, query.bind(key).next());
  return row ? std::string(query.blob(0)) : std::string();
}

}  // namespace

std::string encode_times(const std::vector<Nanoseconds>& times) {
  std::string out;
  Nanoseconds before{0};
  for (const Nanoseconds time : times) {
    put_varint(static_cast<std::uint64_t>((time - before).count()), out);
    before = time;
  }
  return out;
}

std::string encode_members(const std::vector<std::int64_t>& ascending) {
  std::string out;
  std::int64_t before = 0;
  for (const std::int64_t series : ascending) {
    put_varint(static_cast<std::uint64_t>(series - before), out);
    before = series;
  }
  return out;
}

Result<std::vector<ChunkHead>> list_chunks(sqlite3* db, std::optional<Resolution> resolution) {
  std::vector<ChunkHead> chunks;
  Query query(db,
              "SELECT number, resolution, boot, first, last, steps FROM chunks WHERE "
              "resolution=?1 OR ?1<0 ORDER BY boot, first, resolution, number");
  query.bind(resolution ? static_cast<std::int64_t>(*resolution) : -1);
  for (;;) {
    JETMEM_ASSIGN(const auto row, query.next());
    if (!row) return chunks;
    ChunkHead chunk;
    chunk.number = query.number(0);
    chunk.boot = query.number(2);
    chunk.first = Nanoseconds(query.number(3));
    chunk.last = Nanoseconds(query.number(4));
    const std::int64_t kind = query.number(1);
    const std::int64_t steps = query.number(5);
    if (kind < 0 || kind > 2) return damaged_chunk(chunk, "unknown resolution");
    if (steps < 1 || steps > static_cast<std::int64_t>(HistoryStore::kMaxSteps)) {
      return damaged_chunk(chunk, "no number of steps");
    }
    if (chunk.first.count() < 0 || chunk.last < chunk.first)
      return damaged_chunk(chunk, "its times");
    if (chunks.size() == kMaxChunks) return fail(Errc::kIo, "history: too many chunks");
    chunk.resolution = static_cast<Resolution>(kind);
    chunk.steps = static_cast<std::size_t>(steps);
    chunks.push_back(chunk);
  }
}

Result<std::vector<Nanoseconds>> chunk_times(sqlite3* db, const ChunkHead& chunk) {
  JETMEM_ASSIGN(const auto blob,
                blob_of(db, "SELECT times FROM chunks WHERE number=?", chunk.number));
  std::string_view bytes = blob;
  std::vector<Nanoseconds> times;
  times.reserve(chunk.steps);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < chunk.steps; ++i) {
    std::uint64_t more = 0;
    if (!take_varint(bytes, more) || __builtin_add_overflow(at, more, &at) ||
        at > static_cast<std::uint64_t>(chunk.last.count())) {
      return damaged_chunk(chunk, "its times");
    }
    times.emplace_back(static_cast<std::int64_t>(at));
  }
  if (!bytes.empty() || times.front() != chunk.first || times.back() != chunk.last) {
    return damaged_chunk(chunk, "its times");
  }
  return times;
}

Result<std::vector<std::int64_t>> chunk_members(sqlite3* db, const ChunkHead& chunk) {
  JETMEM_ASSIGN(const auto blob,
                blob_of(db, "SELECT members FROM chunks WHERE number=?", chunk.number));
  std::string_view bytes = blob;
  std::vector<std::int64_t> members;
  std::uint64_t number = 0;
  while (!bytes.empty()) {
    std::uint64_t more = 0;
    if (!take_varint(bytes, more) || more > kMaxSeriesNumber ||
        (number += more) > kMaxSeriesNumber || members.size() == HistoryStore::kMaxColumns) {
      return damaged_chunk(chunk, "its series");
    }
    members.push_back(static_cast<std::int64_t>(number));
  }
  return members;
}

Result<std::string> chunk_column(sqlite3* db, const ChunkHead& chunk, std::int64_t series) {
  const std::string sql =
      std::string("SELECT data FROM ") + columns_table(chunk.resolution) + " WHERE id=?";
  return blob_of(db, sql, column_id(chunk.number, series));
}

Result<std::vector<StepValue>> decode_steps(std::string_view column, const ChunkHead& chunk) {
  std::vector<StepValue> steps(chunk.steps);
  if (chunk.resolution == Resolution::kRaw) {
    JETMEM_ASSIGN(const auto values, decode_column(column, chunk.steps));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double value = values[i];
      if (!std::isnan(value)) steps[i] = {1, value, value, value};
    }
    return steps;
  }
  JETMEM_ASSIGN(const auto roll_up, decode_roll_up(column, chunk.steps));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = {roll_up.count[i], roll_up.min[i], roll_up.average[i], roll_up.max[i]};
  }
  return steps;
}

}  // namespace jetmem
