// SPDX-License-Identifier: Apache-2.0
// Minutes out of raw steps and quarters out of minutes, from what is stored: a window at a time,
// once nothing more is to come in it.
#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "history/format/column.h"
#include "history/store/chunks.h"
#include "history/store/store_connection.h"

namespace jetmem {
namespace {

// Longer windows compress better and touch fewer pages; until they are over, the finer resolution
// answers.
constexpr Nanoseconds kMinutesWindow = std::chrono::hours(2);
constexpr Nanoseconds kQuartersWindow = std::chrono::hours(12);
// What was seen in a window may wait in memory so long after its end.
constexpr Nanoseconds kLate = std::chrono::hours(1);

Nanoseconds floor_to(Nanoseconds time, Nanoseconds step) { return time - time % step; }

constexpr std::uint32_t kOutside = UINT32_MAX;

struct RollUpSource {
  ChunkHead chunk;
  std::vector<std::int64_t> members;
  std::vector<std::uint32_t> slots;  // which step of the roll-up each of its steps falls into
};

void take_in(const StepValue& value, std::size_t slot, RollUp& sums) {
  if (value.count == 0) return;
  const double sum = value.average * value.count;
  if (sums.count[slot] == 0) {
    sums.min[slot] = value.min;
    sums.max[slot] = value.max;
    sums.average[slot] = sum;
  } else {
    sums.min[slot] = std::min(sums.min[slot], value.min);
    sums.max[slot] = std::max(sums.max[slot], value.max);
    sums.average[slot] += sum;
  }
  sums.count[slot] += value.count;
}

void to_means(RollUp& sums) {
  for (std::size_t i = 0; i < sums.count.size(); ++i) {
    if (sums.count[i] == 0) continue;
    double& mean = sums.average[i];
    mean /= sums.count[i];
    // Infinities of both signs, or a sum beyond what a double holds: some value between them.
    if (std::isnan(mean)) mean = sums.max[i];
    mean = std::clamp(mean, sums.min[i], sums.max[i]);
  }
}

}  // namespace

Result<void> HistoryStore::Connection::roll_up_window(const BootTime& of, Resolution to,
                                                      Nanoseconds begin, Nanoseconds end,
                                                      std::int64_t current, Nanoseconds now) {
  const bool over = of.number != current;
  const bool minutes = to == Resolution::kMinute;
  const Nanoseconds step = resolution_step(to, options.raw_step);
  JETMEM_ASSIGN(const auto chunks,
                list_chunks(db.get(), minutes ? Resolution::kRaw : Resolution::kMinute));
  std::vector<RollUpSource> sources;
  std::vector<std::vector<Nanoseconds>> times;
  std::vector<Nanoseconds> steps;
  std::vector<std::int64_t> members;
  for (const ChunkHead& chunk : chunks) {
    if (chunk.boot != of.number || chunk.last < begin || chunk.first >= end) continue;
    JETMEM_ASSIGN(auto when, chunk_times(db.get(), chunk));
    JETMEM_ASSIGN(auto who, chunk_members(db.get(), chunk));
    for (const Nanoseconds time : when) {
      if (time >= begin && time < end) steps.push_back(floor_to(time, step));
    }
    members.insert(members.end(), who.begin(), who.end());
    sources.push_back({chunk, std::move(who), {}});
    times.push_back(std::move(when));
  }
  const auto unique = [](auto& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  unique(steps);
  unique(members);
  if (steps.empty() || steps.size() > kMaxSteps) {
    return fail(Errc::kMalformed, "history: a window of no steps or too many");
  }
  // Those known longest stay: a flood of short-lived ones is what is too much. No damage.
  if (members.size() > kMaxColumns) {
    if (windows_cut++ == 0) {
      messages.push_back("more than " + std::to_string(kMaxColumns) + " different series within " +
                         std::to_string((end - begin) / std::chrono::hours(1)) + " h: of " +
                         std::to_string(members.size() - kMaxColumns) +
                         " only the finer steps are kept");
    }
    members.resize(kMaxColumns);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Nanoseconds time : times[i]) {
      const auto slot = std::lower_bound(steps.begin(), steps.end(), floor_to(time, step));
      sources[i].slots.push_back(time < begin || time >= end
                                     ? kOutside
                                     : static_cast<std::uint32_t>(slot - steps.begin()));
    }
  }
  Encoded encoded;
  const double none = std::nan("");
  for (const std::int64_t series : members) {
    RollUp sums{std::vector<double>(steps.size(), none), std::vector<double>(steps.size(), none),
                std::vector<double>(steps.size(), none), std::vector<std::uint32_t>(steps.size())};
    for (const RollUpSource& source : sources) {
      if (!std::binary_search(source.members.begin(), source.members.end(), series)) continue;
      JETMEM_ASSIGN(const auto column, chunk_column(db.get(), source.chunk, series));
      const auto values = decode_steps(column, source.chunk);
      if (!values) {
        if (!std::exchange(logged_damaged_column, true)) {
          messages.push_back(options.file + ": " + values.error().message +
                             ": omitted, and further ones like it");
        }
        continue;
      }
      for (std::size_t i = 0; i < values->size(); ++i) {
        if (source.slots[i] != kOutside) take_in((*values)[i], source.slots[i], sums);
      }
    }
    to_means(sums);
    const std::size_t at = encoded.bytes.size();
    encode_roll_up(sums, encoded.bytes);
    encoded.columns.push_back({series, at, encoded.bytes.size() - at});
  }
  const Nanoseconds until = over ? std::min(end, steps.back() + step) : end;
  const std::uint64_t pages =
      pages_for(encoded.bytes.size() + 16 * encoded.columns.size() + 9 * steps.size());
  JETMEM_TRY(bytes_free_in_wal(pages));
  JETMEM_ASSIGN(auto transaction, Transaction::begin(db.get(), true));
  JETMEM_TRY(bytes_free_in_file(pages, current, now));
  JETMEM_TRY(insert_chunk(to, of.number, steps, encoded));
  Query update(db.get(), minutes ? "UPDATE boots SET minutes_until=? WHERE number=?"
                                 : "UPDATE boots SET quarters_until=? WHERE number=?");
  JETMEM_TRY(update.bind(until.count()).bind(of.number).run());
  JETMEM_TRY(transaction.commit());
  checkpoint();
  return {};
}

// One window of one boot. False: none is due.
Result<bool> HistoryStore::Connection::roll_up(std::int64_t current, Nanoseconds now) {
  JETMEM_ASSIGN(const auto times, BootTimes::load(db.get()));
  for (const Resolution to : {Resolution::kMinute, Resolution::kQuarter}) {
    const bool minutes = to == Resolution::kMinute;
    const Nanoseconds window = minutes ? kMinutesWindow : kQuartersWindow;
    JETMEM_ASSIGN(const auto chunks,
                  list_chunks(db.get(), minutes ? Resolution::kRaw : Resolution::kMinute));
    for (const BootTime& each : times.boots()) {
      const Nanoseconds until = minutes ? each.minutes_until : each.quarters_until;
      // The first step that was not taken in yet, and the end of what there is.
      std::optional<Nanoseconds> first;
      Nanoseconds ready = minutes ? Nanoseconds(0) : each.minutes_until;
      for (const ChunkHead& chunk : chunks) {
        if (chunk.boot != each.number || chunk.last < until) continue;
        Nanoseconds from = chunk.first;
        if (from < until) {
          JETMEM_ASSIGN(const auto steps, chunk_times(db.get(), chunk));
          from = *std::lower_bound(steps.begin(), steps.end(), until);
        }
        first = first ? std::min(*first, from) : from;
        if (minutes) ready = std::max(ready, chunk.last);
      }
      if (!first) continue;
      const Nanoseconds end = floor_to(*first, window) + window;
      const bool over = each.number != current;
      if (!over && ready < end && now < end + kLate + (minutes ? Nanoseconds(0) : kMinutesWindow)) {
        continue;
      }
      JETMEM_TRY(
          roll_up_window(each, to, std::max(until, floor_to(*first, window)), end, current, now));
      return true;
    }
  }
  return false;
}

Result<bool> HistoryStore::tidy(std::int64_t boot, Nanoseconds boot_now) {
  Connection& c = *connection_;
  return c.use([&]() -> Result<bool> {
    const std::int64_t number = c.number_of(boot);
    if (auto rolled = c.roll_up(number, boot_now); !rolled || *rolled) return rolled;
    if (auto dropped = c.drop_old(number, boot_now); !dropped || *dropped) return dropped;
    JETMEM_TRY(c.forget_unused(number));
    return c.shrink();
  });
}

}  // namespace jetmem
