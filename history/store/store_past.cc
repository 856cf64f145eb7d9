// SPDX-License-Identifier: Apache-2.0
// What was: series, their points, the values of a moment.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/text/text.h"
#include "base/try.h"
#include "history/merge_points.h"
#include "history/store/chunks.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostPoints = 200'000;

// What all questions begin with: a view of one moment of the file.
struct View {
  Transaction transaction;
  BootTimes times;
  std::vector<ChunkHead> chunks;
};

Result<View> view_of(sqlite3* db) {
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db, false));
  JETMEM_ASSIGN(auto times, BootTimes::load(db));
  JETMEM_ASSIGN(auto chunks, list_chunks(db, std::nullopt));
  // Of a boot that is not there nothing can be said.
  std::erase_if(chunks, [&](const ChunkHead& chunk) { return times.find(chunk.boot) == nullptr; });
  return View{std::move(transaction), std::move(times), std::move(chunks)};
}

// Which part of a chunk answers for `asked`: what is coarser than asked never does, what is finer
// only where nothing coarser was made of it yet.
Nanoseconds answers_from(const BootTime& boot, Resolution chunk, Resolution requested) {
  if (chunk == requested) return Nanoseconds(0);
  if (requested == Resolution::kMinute) return boot.minutes_until;
  return chunk == Resolution::kMinute ? boot.quarters_until
                                      : std::max(boot.minutes_until, boot.quarters_until);
}

struct Asked {
  sqlite3* db;
  const View& view;
  const SeriesQuery& of;
  std::int64_t series;
};

// Oldest first. More than `most`: the newest `most` + 1 at least.
Result<std::vector<HistoryPoint>> points_of(const Asked& requested, Resolution resolution,
                                            std::size_t most, Nanoseconds raw_step) {
  const Nanoseconds step = resolution_step(resolution, raw_step);
  std::vector<HistoryPoint> newest_first;
  const auto& chunks = requested.view.chunks;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    if (chunk->resolution > resolution) continue;
    const BootTime& boot = *requested.view.times.find(chunk->boot);
    // A step that is rolled up counts until its end, and begins before what it is of.
    Nanoseconds first = boot.at(requested.of.from);
    if (resolution != Resolution::kRaw && first > Nanoseconds(0)) first -= first % step;
    const Nanoseconds from = std::max(answers_from(boot, chunk->resolution, resolution), first);
    const Nanoseconds to = boot.at(requested.of.to);
    if (chunk->last < from || chunk->first > to) continue;
    JETMEM_ASSIGN(const auto column, chunk_column(requested.db, *chunk, requested.series));
    if (column.empty()) continue;
    JETMEM_ASSIGN(const auto when, chunk_times(requested.db, *chunk));
    JETMEM_ASSIGN(const auto values, decode_steps(column, *chunk));
    for (std::size_t i = values.size(); i-- > 0;) {
      const StepValue& value = values[i];
      const Nanoseconds at = when[i];
      if (value.count == 0 || at < from || at > to) continue;
      HistoryPoint point{boot.wall(at), at,        chunk->boot,   boot.trusted, resolution,
                         value.count,   value.min, value.average, value.max};
      if (chunk->resolution != resolution) {
        point.boot_time = at - at % step;
        point.wall = boot.wall(point.boot_time);
        if (!newest_first.empty() && newest_first.back().boot == point.boot &&
            newest_first.back().boot_time == point.boot_time) {
          fold(point, newest_first.back());
          continue;
        }
      }
      newest_first.push_back(point);
    }
    if (newest_first.size() > most) break;
  }
  // Chunks of one boot may be stored out of order where a recorder ended late.
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [](const HistoryPoint& a, const HistoryPoint& b) {
                     return a.boot != b.boot ? a.boot < b.boot : a.boot_time < b.boot_time;
                   });
  return newest_first;
}

// The finest resolution that reaches back to `from`, or as far as any does. In each boot since: of
// one whose clock was never synchronised, raw values may be kept longer than those of a later one.
Resolution finest(const View& view, Nanoseconds from) {
  struct Reach {
    // Of this resolution and of finer ones, which answer in its place.
    std::array<Nanoseconds, 3> oldest{Nanoseconds::max(), Nanoseconds::max(), Nanoseconds::max()};
    Nanoseconds newest = Nanoseconds::min();
  };
  std::unordered_map<std::int64_t, Reach> boots;
  for (const ChunkHead& chunk : view.chunks) {
    const BootTime& boot = *view.times.find(chunk.boot);
    Reach& reach = boots[chunk.boot];
    for (auto i = static_cast<std::size_t>(chunk.resolution); i < reach.oldest.size(); ++i) {
      reach.oldest[i] = std::min(reach.oldest[i], boot.wall(chunk.first));
    }
    reach.newest = std::max(reach.newest, boot.wall(chunk.last));
  }
  // A roll-up's step begins before what it is made of.
  constexpr Nanoseconds kSlack = std::chrono::minutes(15);
  for (const Resolution each : {Resolution::kRaw, Resolution::kMinute}) {
    const bool reaches = std::all_of(boots.begin(), boots.end(), [&](const auto& boot) {
      const Reach& reach = boot.second;
      return reach.newest < from || reach.oldest[static_cast<std::size_t>(each)] <=
                                        std::max(from, add(reach.oldest.back(), kSlack));
    });
    if (reaches) return each;
  }
  return Resolution::kQuarter;
}

bool is_of(std::string_view key, std::string_view family) {
  return family.empty() || (key.substr(0, family.size()) == family &&
                            (key.size() == family.size() || key[family.size()] == '{'));
}

Result<std::optional<HistoryStore::BootState>> state_of(sqlite3* db, const BootTimes& times,
                                                        std::string_view boot_id) {
  const auto& boots = times.boots();
  const auto boot = std::find_if(boots.rbegin(), boots.rend(),
                                 [&](const BootTime& each) { return each.boot_id == boot_id; });
  std::optional<HistoryStore::BootState> state;
  if (boot == boots.rend()) return state;
  state = HistoryStore::BootState{boot->number, boot->offset, boot->trusted, std::nullopt};
  Query query(db, "SELECT max(last) FROM chunks WHERE boot=?");
  JETMEM_ASSIGN(const auto row, query.bind(boot->number).next());
  if (row && !query.is_null(0)) state->until = Nanoseconds(query.number(0));
  return state;
}

// A state's mean is no state: of a roll-up its maximum counts, the worst of that time.
constexpr auto kStateMetrics = std::to_array<std::string_view>({
    "jetmem_alert_state",
    "jetmem_fragmentation_evidence",
    "jetmem_memory_pressure_level",
    "jetmem_source_failing",
    "jetmem_throttle_active",
    "jetmem_throttling",
    "jetmem_throttling_level",
});
// Nor is a name's, and of several names none is that of a moment.
constexpr auto kNameMetrics = std::to_array<std::string_view>({
    "jetmem_power_mode",
    "jetmem_probe_success",
    "jetmem_process_group_pid",
});

// What a step says of a moment within it.
std::optional<double> value_within(std::string_view key, bool is_counter, const StepValue& step) {
  const auto is_one_of = [&](std::span<const std::string_view> families) {
    return std::any_of(families.begin(), families.end(),
                       [&](std::string_view family) { return is_of(key, family); });
  };
  if (is_counter || is_one_of(kStateMetrics)) return step.max;
  if (step.min != step.max && is_one_of(kNameMetrics)) return std::nullopt;
  return step.average;
}

struct Known {
  std::string key;
  bool is_counter = false;
};

Result<std::unordered_map<std::int64_t, Known>> all_series(sqlite3* db, std::string_view family) {
  std::unordered_map<std::int64_t, Known> all;
  Query query(db, "SELECT number, key, counter FROM series LIMIT 200000");
  for (;;) {
    JETMEM_ASSIGN(const auto row, query.next());
    if (!row) return all;
    const std::string_view key = query.text(1);
    if (!is_of(key, family)) continue;
    // These names are shown to people, and something else than jetmem may have written the file.
    if (printable(key, key.size()) != key) {
      return fail(Errc::kMalformed,
                  "series " + std::to_string(query.number(0)) + ": its name is none");
    }
    all.emplace(query.number(0), Known{std::string(key), query.number(2) != 0});
  }
}

}  // namespace

Result<std::vector<SeriesKnown>> HistoryStore::series(std::string_view family) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<std::vector<SeriesKnown>> {
    JETMEM_ASSIGN(const auto view, view_of(c.db.get()));
    JETMEM_ASSIGN(const auto known, all_series(c.db.get(), family));
    // By chunks: a series counts as present for the whole chunk.
    std::unordered_map<std::int64_t, std::pair<Nanoseconds, Nanoseconds>> extents;
    for (const ChunkHead& chunk : view.chunks) {
      JETMEM_ASSIGN(const auto members, chunk_members(c.db.get(), chunk));
      const BootTime& boot = *view.times.find(chunk.boot);
      const Nanoseconds first = boot.wall(chunk.first);
      // The last step that is rolled up counts until its end.
      const Nanoseconds rest = chunk.resolution == Resolution::kRaw
                                   ? Nanoseconds(0)
                                   : resolution_step(chunk.resolution, c.options.raw_step);
      const Nanoseconds last = add(boot.wall(chunk.last), rest);
      for (const std::int64_t series : members) {
        if (known.count(series) == 0) continue;
        auto& extent = extents.try_emplace(series, first, last).first->second;
        extent.first = std::min(extent.first, first);
        extent.second = std::max(extent.second, last);
      }
    }
    std::vector<SeriesKnown> all;
    for (const auto& [number, extent] : extents) {
      const Known& each = known.at(number);
      all.push_back({each.key, each.is_counter, extent.first, extent.second});
    }
    std::sort(all.begin(), all.end(),
              [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
    if (all.size() > History::kMostSeries) all.resize(History::kMostSeries);
    return all;
  });
}

Result<std::optional<HistoryStore::BootState>> HistoryStore::boot_state(std::string_view boot_id) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<std::optional<HistoryStore::BootState>> {
    JETMEM_ASSIGN(const auto transaction, Transaction::begin(c.db.get(), false));
    JETMEM_ASSIGN(const auto times, BootTimes::load(c.db.get()));
    return state_of(c.db.get(), times, boot_id);
  });
}

Result<SeriesPast> HistoryStore::past(const SeriesQuery& requested, WindowStateQuery* of_boot) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<SeriesPast> {
    JETMEM_ASSIGN(const auto view, view_of(c.db.get()));
    if (of_boot != nullptr) {
      JETMEM_ASSIGN(of_boot->state, state_of(c.db.get(), view.times, of_boot->boot_id));
    }
    SeriesPast past;
    past.key = requested.key;
    Query query(c.db.get(), "SELECT number, counter FROM series WHERE key=?");
    JETMEM_ASSIGN(const auto row, query.bind(requested.key).next());
    if (!row) return past;
    past.is_counter = query.number(1) != 0;
    const Asked all{c.db.get(), view, requested, query.number(0)};
    const std::size_t most = std::min(requested.most, kMostPoints);
    Resolution resolution = requested.resolution.value_or(finest(view, requested.from));
    for (;;) {
      JETMEM_ASSIGN(past.points, points_of(all, resolution, most, c.options.raw_step));
      if (past.points.size() <= most) return past;
      if (requested.resolution || resolution == Resolution::kQuarter) break;
      resolution = static_cast<Resolution>(static_cast<int>(resolution) + 1);
    }
    past.points.erase(past.points.begin(), past.points.end() - static_cast<std::ptrdiff_t>(most));
    past.cut = true;
    return past;
  });
}

Result<std::vector<std::pair<std::string, double>>> HistoryStore::at(Nanoseconds wall,
                                                                     Nanoseconds timeout) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<std::vector<std::pair<std::string, double>>> {
    JETMEM_ASSIGN(const auto view, view_of(c.db.get()));
    JETMEM_ASSIGN(const auto known, all_series(c.db.get(), ""));
    const Nanoseconds oldest = subtract(wall, timeout);
    std::map<std::int64_t, std::optional<double>> found;
    // Of each boot, where what is finer than the present resolution begins. From there on it alone
    // says what was there: the mean of a quarter of an hour would bring back what had ended, or was
    // yet to begin.
    std::map<std::int64_t, Nanoseconds> finer_from;
    // Where raw steps are left they are the newest: older ones go first.
    for (const Resolution each : {Resolution::kRaw, Resolution::kMinute, Resolution::kQuarter}) {
      // A roll-up's step counts until its end.
      const Nanoseconds covers =
          each == Resolution::kRaw ? Nanoseconds(0) : resolution_step(each, c.options.raw_step);
      for (auto chunk = view.chunks.rbegin(); chunk != view.chunks.rend(); ++chunk) {
        if (chunk->resolution != each) continue;
        const BootTime& boot = *view.times.find(chunk->boot);
        if (boot.wall(chunk->first) > wall || add(boot.wall(chunk->last), covers) < oldest)
          continue;
        const auto finer = finer_from.find(chunk->boot);
        const bool finer_answers = finer != finer_from.end() && boot.wall(finer->second) <= wall;
        JETMEM_ASSIGN(const auto when, chunk_times(c.db.get(), *chunk));
        JETMEM_ASSIGN(const auto members, chunk_members(c.db.get(), *chunk));
        for (const std::int64_t series : members) {
          const auto name = known.find(series);
          if (name == known.end() || found.count(series) != 0) continue;
          JETMEM_ASSIGN(const auto column, chunk_column(c.db.get(), *chunk, series));
          JETMEM_ASSIGN(const auto values, decode_steps(column, *chunk));
          for (std::size_t i = values.size(); i-- > 0;) {
            const StepValue& value = values[i];
            const Nanoseconds at = boot.wall(when[i]);
            if (value.count == 0 || at > wall) continue;
            if (add(at, covers) < oldest) break;
            if (finer_answers && add(when[i], covers) > finer->second) continue;
            found[series] = value_within(name->second.key, name->second.is_counter, value);
            break;
          }
        }
      }
      for (const ChunkHead& chunk : view.chunks) {
        if (chunk.resolution != each) continue;
        auto& from = finer_from.try_emplace(chunk.boot, chunk.first).first->second;
        from = std::min(from, chunk.first);
      }
    }
    std::vector<std::pair<std::string, double>> all;
    for (const auto& [series, value] : found) {
      if (all.size() == History::kMostSeries) break;
      if (value) all.emplace_back(known.at(series).key, *value);
    }
    std::sort(all.begin(), all.end());
    return all;
  });
}

}  // namespace jetmem
