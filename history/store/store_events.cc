// SPDX-License-Identifier: Apache-2.0
// What happened, page by page, and what is known of the file as a whole.
#include <algorithm>

#include "base/text/text.h"
#include "base/try.h"
#include "history/store/chunks.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostEvents = 10'000;
constexpr auto kLastWhat = static_cast<std::int64_t>(EventWhat::kGuess);

std::optional<Nanoseconds> maybe_time(const Query& query, int column) {
  if (query.is_null(column)) return std::nullopt;
  return Nanoseconds(query.number(column));
}

EventRecord event_of(const Query& query, const BootTime* boot) {
  EventRecord event;
  event.id = query.number(0);
  event.boot = query.number(1);
  event.what = static_cast<EventWhat>(std::clamp<std::int64_t>(query.number(2), 0, kLastWhat));
  // As they were written, unless somebody else wrote them.
  event.kind = printable(query.text(3), EventRecord::kMaxText);
  event.severity = printable(query.text(4), EventRecord::kMaxText);
  event.origin = printable(query.text(5), EventRecord::kMaxText);
  event.subject = printable(query.text(6), EventRecord::kMaxText);
  event.summary = printable(query.text(7), EventRecord::kMaxText);
  if (query.text(8).size() <= EventRecord::kMaxFields) event.fields = query.text(8);
  event.at = maybe_time(query, 9);
  event.wall = maybe_time(query, 10);
  if (event.at && boot != nullptr) event.wall = boot->wall(*event.at);
  event.wall_trusted = boot != nullptr && boot->trusted;
  event.count = static_cast<std::uint64_t>(std::max<std::int64_t>(query.number(12), 0));
  event.until = maybe_time(query, 13);
  return event;
}

}  // namespace

Result<EventsPast> HistoryStore::events(const EventsQuery& requested) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<EventsPast> {
    JETMEM_ASSIGN(const auto transaction, Transaction::begin(c.db.get(), false));
    JETMEM_ASSIGN(const auto times, BootTimes::load(c.db.get()));
    EventsPast past;
    const std::size_t most = std::min(requested.most, kMostEvents);
    Query query(c.db.get(),
                "SELECT id, boot, what, kind, severity, origin, subject, summary, fields, "
                "at, wall, placed, count, until FROM events WHERE id<? ORDER BY id DESC");
    query.bind(requested.before.value_or(INT64_MAX));
    for (;;) {
      JETMEM_ASSIGN(const auto row, query.next());
      if (!row) return past;
      const BootTime* boot = times.find(query.number(1));
      EventRecord event = event_of(query, boot);
      std::optional<Nanoseconds> when = event.wall;
      if (!when && boot != nullptr) when = boot->wall(Nanoseconds(query.number(11)));
      if (!requested.wants(event, when)) continue;
      if (past.events.size() == most) {
        past.more = true;
        return past;
      }
      past.events.push_back(std::move(event));
    }
  });
}

Result<HistoryFacts> HistoryStore::facts() {
  Connection& c = *connection_;
  return c.use([&]() -> Result<HistoryFacts> {
    JETMEM_ASSIGN(const auto transaction, Transaction::begin(c.db.get(), false));
    JETMEM_ASSIGN(const auto times, BootTimes::load(c.db.get()));
    HistoryFacts facts;
    facts.location = c.options.file;
    facts.bytes = bytes();
    const auto ask = [&](std::string_view sql, auto& into) -> Result<void> {
      JETMEM_ASSIGN(const auto number, query_number(c.db.get(), sql));
      into = std::decay_t<decltype(into)>(number);
      return {};
    };
    JETMEM_TRY(ask("SELECT count(*) FROM series", facts.series));
    JETMEM_TRY(ask("SELECT count(*) FROM events", facts.events));
    JETMEM_TRY(ask("SELECT value FROM facts WHERE name='raw_step'", facts.raw_step));
    JETMEM_TRY(ask("PRAGMA user_version", facts.schema));
    JETMEM_ASSIGN(const auto chunks, list_chunks(c.db.get(), std::nullopt));
    for (const ChunkHead& chunk : chunks) {
      const BootTime* boot = times.find(chunk.boot);
      if (boot == nullptr) continue;
      const Nanoseconds first = boot->wall(chunk.first);
      const Nanoseconds last = boot->wall(chunk.last);
      facts.oldest = std::min(facts.oldest.value_or(first), first);
      facts.newest = std::max(facts.newest.value_or(last), last);
    }
    for (const BootTime& boot : times.boots()) {
      facts.boots.push_back(
          {boot.number, boot.boot_id, boot.wall(boot.first), boot.wall(boot.last), boot.trusted});
    }
    for (const std::string& messages : c.messages)
      facts.problem += (facts.problem.empty() ? "" : "; ") + messages;
    return facts;
  });
}

}  // namespace jetmem
