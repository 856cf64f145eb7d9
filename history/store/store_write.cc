// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/try.h"
#include "history/format/column.h"
#include "history/store/chunks.h"
#include "history/store/schema.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

// A correction smaller than that is not worth a write.
constexpr std::int64_t kSmallCorrection = 100'000'000;

Result<void> check_chunk(const RawChunk& chunk) {
  const auto wrong = [](const char* what) { return fail(Errc::kInvalid, what); };
  if (chunk.steps.empty() || chunk.steps.size() > HistoryStore::kMaxSteps) {
    return wrong("history: a chunk of no steps or too many");
  }
  if (chunk.columns.size() > HistoryStore::kMaxColumns) return wrong("history: too many series");
  if (chunk.steps.front().count() < 0 ||
      std::adjacent_find(chunk.steps.begin(), chunk.steps.end(), std::greater_equal<>()) !=
          chunk.steps.end()) {
    return wrong("history: a chunk's steps do not ascend");
  }
  for (const RawChunk::Column& column : chunk.columns) {
    if (column.values.size() != chunk.steps.size()) {
      return wrong("history: values and steps of a chunk differ in number");
    }
  }
  return {};
}

std::size_t bytes_of(const EventRecord& event) {
  return event.subject.size() + event.summary.size() + event.fields.size() + 64;
}

Result<std::int64_t> series_number(sqlite3* db, const RawChunk::Column& column) {
  Query known(db, "SELECT number, counter FROM series WHERE key=?");
  JETMEM_ASSIGN(const auto row, known.bind(column.key).next());
  if (row) {
    const std::int64_t number = known.number(0);
    if ((known.number(1) != 0) == column.is_counter) return number;
    Query changed(db, "UPDATE series SET counter=? WHERE number=?");
    JETMEM_TRY(changed.bind(column.is_counter ? 1 : 0).bind(number).run());
    return number;
  }
  Query put(db, "INSERT INTO series(key, counter) VALUES(?, ?)");
  JETMEM_TRY(put.bind(column.key).bind(column.is_counter ? 1 : 0).run());
  const std::int64_t number = sqlite3_last_insert_rowid(db);
  if (number > kMaxSeriesNumber) return fail(Errc::kTooLarge, "history: too many series ever");
  return number;
}

// The statement ends here: one that is open when the write is over would keep its checkpoint from
// going on.
Result<std::pair<std::int64_t, std::int64_t>> extent_of(sqlite3* db, std::int64_t boot) {
  Query extent(db, "SELECT first, last FROM boots WHERE number=?");
  JETMEM_ASSIGN(const auto row, extent.bind(boot).next());
  if (!row) {
    return fail(Errc::kInvalid, "history: boot " + std::to_string(boot) + " was not begun");
  }
  return std::pair(extent.number(0), extent.number(1));
}

Result<std::int64_t> events_until(sqlite3* db) {
  return query_number(db, "SELECT seq FROM sqlite_sequence WHERE name='events'");
}

Result<void> put_events(sqlite3* db, std::int64_t boot, std::span<const EventRecord> events,
                        std::int64_t placed, std::int64_t (*number)(void*, std::int64_t),
                        void* of) {
  Query put(db,
            "INSERT INTO events(id, boot, what, kind, severity, origin, subject, summary, fields, "
            "at, wall, placed, count, until) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  JETMEM_ASSIGN(std::int64_t greatest, events_until(db));
  const auto maybe = [&](const std::optional<Nanoseconds>& time) {
    time ? put.bind(time->count()) : put.bind_null();
  };
  for (const EventRecord& event : events) {
    greatest = std::max(greatest + 1, event.id);
    put.bind(greatest)
        .bind(event.boot == 0 ? boot : number(of, event.boot))
        .bind(static_cast<std::int64_t>(event.what))
        .bind(event.kind)
        .bind(event.severity)
        .bind(event.origin)
        .bind(event.subject)
        .bind(event.summary)
        .bind(event.fields);
    maybe(event.at);
    maybe(event.wall);
    put.bind(event.at ? event.at->count() : placed);
    put.bind(static_cast<std::int64_t>(
        std::min<std::uint64_t>(event.count, std::numeric_limits<std::int64_t>::max())));
    maybe(event.until);
    JETMEM_TRY(put.run());
  }
  return {};
}

}  // namespace

Result<std::int64_t> HistoryStore::Connection::put_boot(std::string_view id, std::int64_t needed) {
  Query known(db.get(), "SELECT number FROM boots WHERE boot_id=?");
  JETMEM_ASSIGN(const auto row, known.bind(id).next());
  if (row) return known.number(0);
  JETMEM_ASSIGN(const auto newest, query_number(db.get(), "SELECT max(number) FROM boots"));
  // What callers know a boot by is kept where the file has changed under them.
  const std::int64_t number = std::max(needed, newest + 1);
  Query put(db.get(), "INSERT INTO boots(number, boot_id, first, last) VALUES(?, ?, ?, ?)");
  const std::int64_t at = boot ? boot->seen.at.count() : 0;
  JETMEM_TRY(put.bind(number).bind(id).bind(at).bind(at).run());
  return number;
}

Result<void> HistoryStore::Connection::put_clock_reading(std::int64_t number,
                                                         const WallSeen& seen) {
  Query put(
      db.get(),
      "INSERT INTO looks(boot, trust, at, offset) VALUES(?, ?, ?, ?) ON CONFLICT(boot, trust) "
      "DO UPDATE SET at=excluded.at, offset=excluded.offset WHERE excluded.at>=at AND "
      "abs(excluded.offset-offset)>=?");
  return put.bind(number)
      .bind(static_cast<std::int64_t>(seen.trust))
      .bind(seen.at.count())
      .bind(seen.offset.count())
      .bind(kSmallCorrection)
      .run();
}

Result<HistoryStore::Resume> HistoryStore::resume(std::int64_t boot) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<Resume> {
    Resume out;
    JETMEM_ASSIGN(out.last_event, events_until(c.db.get()));
    Query query(c.db.get(),
                "SELECT max(max(at, ifnull(until, at))) FROM events WHERE boot=? AND what IN (?, ?)");
    query.bind(c.number_of(boot))
        .bind(static_cast<std::int64_t>(EventWhat::kKernel))
        .bind(static_cast<std::int64_t>(EventWhat::kGuess));
    JETMEM_ASSIGN(const bool found, query.next());
    if (found && !query.is_null(0)) out.kernel_until = Nanoseconds(query.number(0));
    return out;
  });
}

Result<std::int64_t> HistoryStore::last_event() {
  Connection& c = *connection_;
  return c.use([&] { return events_until(c.db.get()); });
}

Result<std::int64_t> HistoryStore::begin_boot(std::string_view boot_id, const WallSeen& wall) {
  Connection& c = *connection_;
  // It is begun in a new file by what follows.
  c.boot.reset();
  return c.use([&]() -> Result<std::int64_t> {
    JETMEM_TRY(c.bytes_free_in_wal(32));
    JETMEM_ASSIGN(auto transaction, Transaction::begin(c.db.get(), true));
    c.boot = Connection::Boot{std::string(boot_id), 0, 0, wall};
    JETMEM_ASSIGN(const auto number, c.put_boot(boot_id, 0));
    JETMEM_TRY(c.put_clock_reading(number, wall));
    JETMEM_TRY(transaction.commit());
    c.boot->given = number;
    c.boot->number = number;
    return number;
  });
}

Result<void> HistoryStore::record_wall_clock(std::int64_t boot, const WallSeen& wall) {
  Connection& c = *connection_;
  if (c.boot && c.boot->given == boot && wall.trust >= c.boot->seen.trust) c.boot->seen = wall;
  return c.use([&]() -> Result<void> {
    JETMEM_TRY(c.bytes_free_in_wal(8));
    return c.put_clock_reading(c.number_of(boot), wall);
  });
}

Result<void> HistoryStore::Connection::insert_chunk(Resolution resolution, std::int64_t of_boot,
                                                    const std::vector<Nanoseconds>& times,
                                                    Encoded& encoded) {
  std::sort(encoded.columns.begin(), encoded.columns.end(),
            [](const auto& a, const auto& b) { return a.series < b.series; });
  std::vector<std::int64_t> members;
  for (const auto& column : encoded.columns) members.push_back(column.series);
  if (std::adjacent_find(members.begin(), members.end()) != members.end()) {
    return fail(Errc::kInvalid, "history: a series twice in a chunk");
  }
  const std::string when = encode_times(times);
  const std::string who = encode_members(members);
  Query head(db.get(),
             "INSERT INTO chunks(resolution, boot, first, last, steps, times, members) "
             "VALUES(?, ?, ?, ?, ?, ?, ?)");
  JETMEM_TRY(head.bind(static_cast<std::int64_t>(resolution))
                 .bind(of_boot)
                 .bind(times.front().count())
                 .bind(times.back().count())
                 .bind(static_cast<std::int64_t>(times.size()))
                 .bind_blob(when)
                 .bind_blob(who)
                 .run());
  const std::int64_t chunk = sqlite3_last_insert_rowid(db.get());
  const std::string sql =
      std::string("INSERT INTO ") + columns_table(resolution) + "(id, data) VALUES(?, ?)";
  Query put(db.get(), sql);
  for (const auto& column : encoded.columns) {
    JETMEM_TRY(put.bind(column_id(chunk, column.series))
                   .bind_blob(std::string_view(encoded.bytes).substr(column.at, column.size))
                   .run());
  }
  return {};
}

Result<void> HistoryStore::write(std::int64_t boot, const RawChunk* chunk,
                                 std::span<const EventRecord> events) {
  Connection& c = *connection_;
  if (chunk != nullptr) {
    JETMEM_TRY(check_chunk(*chunk));
  }
  return c.use([&]() -> Result<void> {
    const std::int64_t number = c.number_of(boot);
    Connection::Encoded encoded;
    if (chunk != nullptr) {
      for (const RawChunk::Column& column : chunk->columns) {
        const std::size_t at = encoded.bytes.size();
        encode_column(column.values, encoded.bytes);
        encoded.columns.push_back({0, at, encoded.bytes.size() - at});
      }
    }
    std::size_t event_bytes = 0;
    std::size_t most = 0;
    for (const EventRecord& event : events) {
      event_bytes += bytes_of(event);
      most += bytes_of(event) + event.kind.size() + event.severity.size() + event.origin.size();
    }
    const std::uint64_t pages =
        Connection::pages_for(encoded.bytes.size() + 16 * encoded.columns.size() + most +
                              (chunk == nullptr ? 0 : 9 * chunk->steps.size()));
    JETMEM_TRY(c.bytes_free_in_wal(pages));
    JETMEM_ASSIGN(auto transaction, Transaction::begin(c.db.get(), true));

    JETMEM_ASSIGN(const auto extent, extent_of(c.db.get(), number));
    const std::int64_t first_before = extent.first;
    const std::int64_t last_before = extent.second;
    std::int64_t first = first_before;
    std::int64_t last = last_before;
    const auto seen = [&](Nanoseconds at) {
      first = std::min(first, at.count());
      last = std::max(last, at.count());
    };
    if (chunk != nullptr) {
      seen(chunk->steps.front());
      seen(chunk->steps.back());
    }
    for (const EventRecord& event : events) {
      if (event.at && (event.boot == 0 || c.number_of(event.boot) == number)) seen(*event.at);
    }
    const std::uint64_t before = c.event_bytes;
    const auto put_all = [&]() -> Result<void> {
      JETMEM_TRY(c.bytes_free_in_file(pages, number, Nanoseconds(last)));
      if (first != first_before || last != last_before) {
        Query update(c.db.get(), "UPDATE boots SET first=?, last=? WHERE number=?");
        JETMEM_TRY(update.bind(first).bind(last).bind(number).run());
      }
      if (chunk != nullptr) {
        for (std::size_t i = 0; i < chunk->columns.size(); ++i) {
          JETMEM_ASSIGN(encoded.columns[i].series, series_number(c.db.get(), chunk->columns[i]));
        }
        JETMEM_TRY(c.insert_chunk(Resolution::kRaw, number, chunk->steps, encoded));
      }
      const auto boot_number = [](void* of, std::int64_t given) {
        return static_cast<Connection*>(of)->number_of(given);
      };
      JETMEM_TRY(put_events(c.db.get(), number, events, last, boot_number, &c));
      return transaction.commit();
    };
    if (auto done = put_all(); !done) {
      c.event_bytes = before;
      return done;
    }
    c.event_bytes += event_bytes;
    c.checkpoint();
    return {};
  });
}

}  // namespace jetmem
