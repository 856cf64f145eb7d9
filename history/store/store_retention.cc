// SPDX-License-Identifier: Apache-2.0
// What goes, and in which order.
//
// By age: each resolution after its time, raw steps and minutes only once the next coarser
// resolution was made of them.
//
// When bytes are short, the oldest of the finest goes first, because the same time is still there
// in a coarser one: raw steps but for the last hour, minutes but for the last half day, quarters
// but for the last week, events but for the last week. Only when that is not enough, what tells
// least about the last death: quarters, minutes, events, raw steps, the oldest of each first.
// Events never take more than a quarter of the file: a storm of them does not drive out the rest.
#include <algorithm>
#include <array>

#include "base/try.h"
#include "history/store/chunks.h"
#include "history/store/schema.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

using std::chrono::hours;

struct Rule {
  std::optional<Resolution> resolution;  // absent: events
  Nanoseconds throttled;
  bool rolled_up;  // only what a coarser resolution has
};

constexpr std::array<Rule, 8> kWhenShort{{
    {Resolution::kRaw, hours(1), true},
    {Resolution::kMinute, hours(12), true},
    {Resolution::kQuarter, hours(24 * 7), false},
    {std::nullopt, hours(24 * 7), false},
    {Resolution::kQuarter, hours(0), false},
    {Resolution::kMinute, hours(0), false},
    {std::nullopt, hours(0), false},
    {Resolution::kRaw, hours(0), false},
}};

constexpr int kEventsAtOnce = 256;
constexpr int kChunksAtOnce = 8;

bool is_rolled_up(const BootTimes& times, const ChunkHead& chunk) {
  const BootTime* boot = times.find(chunk.boot);
  if (boot == nullptr || chunk.resolution == Resolution::kQuarter) return true;
  return chunk.last <
         (chunk.resolution == Resolution::kRaw ? boot->minutes_until : boot->quarters_until);
}

Result<std::optional<ChunkHead>> oldest_chunk(sqlite3* db, Resolution resolution) {
  Query query(db,
              "SELECT number, boot, first, last FROM chunks WHERE resolution=? ORDER BY boot, "
              "last LIMIT 1");
  JETMEM_ASSIGN(const auto row, query.bind(static_cast<std::int64_t>(resolution)).next());
  if (!row) return std::optional<ChunkHead>();
  ChunkHead chunk;
  chunk.number = query.number(0);
  chunk.resolution = resolution;
  chunk.boot = query.number(1);
  chunk.first = Nanoseconds(query.number(2));
  chunk.last = Nanoseconds(query.number(3));
  return std::optional<ChunkHead>(chunk);
}

Result<void> drop_chunk(sqlite3* db, const ChunkHead& chunk) {
  const std::string sql =
      std::string("DELETE FROM ") + columns_table(chunk.resolution) + " WHERE id BETWEEN ? AND ?";
  Query columns(db, sql);
  JETMEM_TRY(columns.bind(column_id(chunk.number, 0))
                 .bind(column_id(chunk.number, kMaxSeriesNumber))
                 .run());
  Query head(db, "DELETE FROM chunks WHERE number=?");
  return head.bind(chunk.number).run();
}

struct OldEvents {
  std::int64_t last = 0;  // id
  std::uint64_t bytes = 0;
};

// The oldest ones, at most kEventsAtOnce, that are older than `spared`.
Result<OldEvents> oldest_events(sqlite3* db, const BootTimes& times, std::int64_t boot,
                                Nanoseconds now, Nanoseconds throttled) {
  OldEvents old;
  Query query(db,
              "SELECT id, boot, placed, length(subject)+length(summary)+length(fields)+64 FROM "
              "events ORDER BY id LIMIT ?");
  query.bind(kEventsAtOnce);
  for (;;) {
    JETMEM_ASSIGN(const auto row, query.next());
    if (!row) return old;
    if (times.age(query.number(1), Nanoseconds(query.number(2)), boot, now) < throttled) return old;
    old.last = query.number(0);
    old.bytes += static_cast<std::uint64_t>(query.number(3));
  }
}

Result<bool> drop_events(sqlite3* db, const OldEvents& old, std::uint64_t& event_bytes) {
  if (old.last == 0) return false;
  Query query(db, "DELETE FROM events WHERE id<=?");
  JETMEM_TRY(query.bind(old.last).run());
  event_bytes -= std::min(event_bytes, old.bytes);
  return true;
}

}  // namespace

// Within a transaction. False: there is nothing left to drop.
Result<bool> HistoryStore::Connection::drop_oldest(const BootTimes& times, std::int64_t of_boot,
                                                   Nanoseconds now) {
  for (const Rule& rule : kWhenShort) {
    if (!rule.resolution) {
      JETMEM_ASSIGN(const auto old, oldest_events(db.get(), times, of_boot, now, rule.throttled));
      const auto dropped = drop_events(db.get(), old, event_bytes);
      if (!dropped || *dropped) return dropped;
      continue;
    }
    JETMEM_ASSIGN(const auto chunk, oldest_chunk(db.get(), *rule.resolution));
    if (!chunk || (rule.rolled_up && !is_rolled_up(times, *chunk)) ||
        times.age(chunk->boot, chunk->last, of_boot, now) < rule.throttled) {
      continue;
    }
    may_forget = true;
    JETMEM_TRY(drop_chunk(db.get(), *chunk));
    return true;
  }
  return false;
}

Result<bool> HistoryStore::Connection::drop_old(std::int64_t of_boot, Nanoseconds now) {
  JETMEM_ASSIGN(const auto times, BootTimes::load(db.get()));
  const std::array<std::pair<Resolution, Nanoseconds>, 3> kept{{
      {Resolution::kRaw, options.keep_raw},
      {Resolution::kMinute, options.keep_minutes},
      {Resolution::kQuarter, options.keep_quarters},
  }};
  std::vector<ChunkHead> old;
  for (const auto& [resolution, keep] : kept) {
    JETMEM_ASSIGN(const auto chunks, list_chunks(db.get(), resolution));
    const auto is_old = [&, most = keep](const ChunkHead& chunk) {
      return times.age(chunk.boot, chunk.last, of_boot, now) > most;
    };
    // Boots are in order of time. One whose clock was never synchronised may count as younger than
    // a later one: it goes with that one, so that nothing finer is left before a hole. What is not
    // rolled up any further goes by its own age alone.
    std::int64_t old_before = 0;
    for (const ChunkHead& chunk : chunks) {
      if (resolution == Resolution::kQuarter || times.find(chunk.boot) == nullptr) continue;
      if (is_old(chunk)) old_before = std::max(old_before, chunk.boot);
    }
    for (const ChunkHead& chunk : chunks) {
      if (old.size() == kChunksAtOnce) break;
      const BootTime* const its_boot = times.find(chunk.boot);
      const bool has_time = its_boot == nullptr || its_boot->trusted;
      if (!is_old(chunk) && (has_time || chunk.boot >= old_before)) continue;
      if (is_rolled_up(times, chunk)) old.push_back(chunk);
    }
  }
  const std::uint64_t most_events = max_pages * kPage / 4;
  const Nanoseconds keep_events = event_bytes > most_events ? Nanoseconds(0) : options.keep_events;
  JETMEM_ASSIGN(const auto events, oldest_events(db.get(), times, of_boot, now, keep_events));
  if (old.empty() && events.last == 0) return false;
  JETMEM_TRY(bytes_free_in_wal(256));
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db.get(), true));
  for (const ChunkHead& chunk : old) {
    JETMEM_TRY(drop_chunk(db.get(), chunk));
  }
  const std::uint64_t before = event_bytes;
  auto dropped = drop_events(db.get(), events, event_bytes);
  if (dropped) {
    if (auto done = transaction.commit(); !done) dropped = tl::unexpected(done.error());
  }
  if (!dropped) {
    event_bytes = before;
    return dropped;
  }
  may_forget = true;
  return old.size() == kChunksAtOnce || events.last != 0;
}

// Series and boots of which nothing is left.
Result<void> HistoryStore::Connection::forget_unused(std::int64_t of_boot) {
  if (!may_forget) return {};
  may_forget = false;
  JETMEM_ASSIGN(const auto chunks, list_chunks(db.get(), std::nullopt));
  std::vector<std::int64_t> used;
  for (const ChunkHead& chunk : chunks) {
    JETMEM_ASSIGN(const auto members, chunk_members(db.get(), chunk));
    std::vector<std::int64_t> both;
    std::set_union(used.begin(), used.end(), members.begin(), members.end(),
                   std::back_inserter(both));
    used = std::move(both);
  }
  std::vector<std::int64_t> unused;
  Query all(db.get(), "SELECT number FROM series ORDER BY number");
  for (;;) {
    JETMEM_ASSIGN(const auto row, all.next());
    if (!row || unused.size() == 512) break;
    if (!std::binary_search(used.begin(), used.end(), all.number(0))) {
      unused.push_back(all.number(0));
    }
  }
  JETMEM_TRY(bytes_free_in_wal(256));
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db.get(), true));
  Query forget(db.get(), "DELETE FROM series WHERE number=?");
  for (const std::int64_t number : unused) {
    JETMEM_TRY(forget.bind(number).run());
  }
  // The boot before the kept ones anchors those whose clock was never set.
  Query boots(db.get(),
              "DELETE FROM boots WHERE number<>? AND number NOT IN (SELECT boot FROM "
              "chunks UNION SELECT boot FROM events)");
  JETMEM_TRY(boots.bind(of_boot).run());
  JETMEM_TRY(run_sql(db.get(), "DELETE FROM looks WHERE boot NOT IN (SELECT number FROM boots)"));
  return transaction.commit();
}

}  // namespace jetmem
