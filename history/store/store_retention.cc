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
  const auto row = query.bind(static_cast<std::int64_t>(resolution)).next();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::optional<ChunkHead>();
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
  if (auto done = columns.bind(column_id(chunk.number, 0))
                      .bind(column_id(chunk.number, kMaxSeriesNumber))
                      .run();
      !done) {
    return done;
  }
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
    const auto row = query.next();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return old;
    if (times.age(query.number(1), Nanoseconds(query.number(2)), boot, now) < throttled) return old;
    old.last = query.number(0);
    old.bytes += static_cast<std::uint64_t>(query.number(3));
  }
}

Result<bool> drop_events(sqlite3* db, const OldEvents& old, std::uint64_t& event_bytes) {
  if (old.last == 0) return false;
  Query query(db, "DELETE FROM events WHERE id<=?");
  if (auto done = query.bind(old.last).run(); !done) return tl::unexpected(done.error());
  event_bytes -= std::min(event_bytes, old.bytes);
  return true;
}

}  // namespace

// Within a transaction. False: there is nothing left to drop.
Result<bool> HistoryStore::Connection::drop_oldest(const BootTimes& times, std::int64_t of_boot,
                                                   Nanoseconds now) {
  for (const Rule& rule : kWhenShort) {
    if (!rule.resolution) {
      const auto old = oldest_events(db.get(), times, of_boot, now, rule.throttled);
      if (!old) return tl::unexpected(old.error());
      const auto dropped = drop_events(db.get(), *old, event_bytes);
      if (!dropped || *dropped) return dropped;
      continue;
    }
    const auto chunk = oldest_chunk(db.get(), *rule.resolution);
    if (!chunk) return tl::unexpected(chunk.error());
    if (!*chunk || (rule.rolled_up && !is_rolled_up(times, **chunk)) ||
        times.age((*chunk)->boot, (*chunk)->last, of_boot, now) < rule.throttled) {
      continue;
    }
    may_forget = true;
    if (auto done = drop_chunk(db.get(), **chunk); !done) return tl::unexpected(done.error());
    return true;
  }
  return false;
}

Result<bool> HistoryStore::Connection::drop_old(std::int64_t of_boot, Nanoseconds now) {
  const auto times = BootTimes::load(db.get());
  if (!times) return tl::unexpected(times.error());
  const std::array<std::pair<Resolution, Nanoseconds>, 3> kept{{
      {Resolution::kRaw, options.keep_raw},
      {Resolution::kMinute, options.keep_minutes},
      {Resolution::kQuarter, options.keep_quarters},
  }};
  std::vector<ChunkHead> old;
  for (const auto& [resolution, keep] : kept) {
    const auto chunks = list_chunks(db.get(), resolution);
    if (!chunks) return tl::unexpected(chunks.error());
    for (const ChunkHead& chunk : *chunks) {
      if (old.size() == kChunksAtOnce) break;
      // Order of boots is order of time: what follows is younger.
      if (times->age(chunk.boot, chunk.last, of_boot, now) <= keep) continue;
      if (is_rolled_up(*times, chunk)) old.push_back(chunk);
    }
  }
  const std::uint64_t most_events = max_pages * kPage / 4;
  const Nanoseconds keep_events = event_bytes > most_events ? Nanoseconds(0) : options.keep_events;
  const auto events = oldest_events(db.get(), *times, of_boot, now, keep_events);
  if (!events) return tl::unexpected(events.error());
  if (old.empty() && events->last == 0) return false;
  if (auto room = bytes_free_in_wal(256); !room) return tl::unexpected(room.error());
  auto transaction = Transaction::begin(db.get(), true);
  if (!transaction) return tl::unexpected(transaction.error());
  for (const ChunkHead& chunk : old) {
    if (auto done = drop_chunk(db.get(), chunk); !done) return tl::unexpected(done.error());
  }
  const std::uint64_t before = event_bytes;
  auto dropped = drop_events(db.get(), *events, event_bytes);
  if (dropped) {
    if (auto done = transaction->commit(); !done) dropped = tl::unexpected(done.error());
  }
  if (!dropped) {
    event_bytes = before;
    return dropped;
  }
  may_forget = true;
  return old.size() == kChunksAtOnce || events->last != 0;
}

// Series and boots of which nothing is left.
Result<void> HistoryStore::Connection::forget_unused(std::int64_t of_boot) {
  if (!may_forget) return {};
  may_forget = false;
  const auto chunks = list_chunks(db.get(), std::nullopt);
  if (!chunks) return tl::unexpected(chunks.error());
  std::vector<std::int64_t> used;
  for (const ChunkHead& chunk : *chunks) {
    const auto members = chunk_members(db.get(), chunk);
    if (!members) return tl::unexpected(members.error());
    std::vector<std::int64_t> both;
    std::set_union(used.begin(), used.end(), members->begin(), members->end(),
                   std::back_inserter(both));
    used = std::move(both);
  }
  std::vector<std::int64_t> unused;
  Query all(db.get(), "SELECT number FROM series ORDER BY number");
  for (;;) {
    const auto row = all.next();
    if (!row) return tl::unexpected(row.error());
    if (!*row || unused.size() == 512) break;
    if (!std::binary_search(used.begin(), used.end(), all.number(0))) {
      unused.push_back(all.number(0));
    }
  }
  if (auto room = bytes_free_in_wal(256); !room) return room;
  auto transaction = Transaction::begin(db.get(), true);
  if (!transaction) return tl::unexpected(transaction.error());
  Query forget(db.get(), "DELETE FROM series WHERE number=?");
  for (const std::int64_t number : unused) {
    if (auto done = forget.bind(number).run(); !done) return done;
  }
  // The boot before the kept ones anchors those whose clock was never set.
  Query boots(db.get(),
              "DELETE FROM boots WHERE number<>? AND number NOT IN (SELECT boot FROM "
              "chunks UNION SELECT boot FROM events)");
  if (auto done = boots.bind(of_boot).run(); !done) return done;
  if (auto done =
          run_sql(db.get(), "DELETE FROM looks WHERE boot NOT IN (SELECT number FROM boots)");
      !done) {
    return done;
  }
  return transaction->commit();
}

}  // namespace jetmem
