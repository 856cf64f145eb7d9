// SPDX-License-Identifier: Apache-2.0
#include "history/store/boot_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "history/store/sqlite.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxBoots = 10'000;
constexpr Nanoseconds kBetween = std::chrono::seconds(1);
constexpr int kPlausible = static_cast<int>(WallTrust::kPlausible);
constexpr int kSynced = static_cast<int>(WallTrust::kSynced);

void location(BootTime& boot, const BootTime* before, const BootTime* next_set) {
  if (before != nullptr) {
    boot.offset = subtract(add(before->wall(before->last), kBetween), boot.first);
  } else if (next_set != nullptr) {
    boot.offset = subtract(subtract(next_set->wall(next_set->first), kBetween), boot.last);
  }
}

}  // namespace

Nanoseconds add(Nanoseconds a, Nanoseconds b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Nanoseconds(sum);
  return a.count() < 0 ? Nanoseconds::min() : Nanoseconds::max();
}

Nanoseconds subtract(Nanoseconds a, Nanoseconds b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &difference)) return Nanoseconds(difference);
  return a.count() < 0 ? Nanoseconds::min() : Nanoseconds::max();
}

Nanoseconds BootTime::wall(Nanoseconds when) const { return add(when, offset); }
Nanoseconds BootTime::at(Nanoseconds when) const { return subtract(when, offset); }

BootTimes::BootTimes(std::vector<BootTime> boots) : boots_(std::move(boots)) {
  // The next one whose clock was set, and was synchronised, from behind.
  std::vector<std::pair<const BootTime*, const BootTime*>> next(boots_.size() + 1);
  for (std::size_t i = boots_.size(); i-- > 0;) {
    BootTime& boot = boots_[i];
    boot.trusted = boot.trust >= kSynced;
    next[i] = next[i + 1];
    if (boot.trust >= kPlausible) next[i].first = &boot;
    if (boot.trusted) next[i].second = &boot;
  }
  const BootTime* before = nullptr;
  for (std::size_t i = 0; i < boots_.size(); ++i) {
    BootTime& boot = boots_[i];
    const auto& [next_set, next_synced] = next[i + 1];
    if (boot.trust == kPlausible) {
      const bool too_early =
          before != nullptr && boot.wall(boot.first) < before->wall(before->last);
      const bool too_late =
          next_synced != nullptr && boot.wall(boot.last) > next_synced->wall(next_synced->first);
      if (too_early || too_late) location(boot, before, next_synced);
    } else if (boot.trust < kPlausible) {
      location(boot, before, next_set);
    }
    before = &boot;
  }
}

Result<BootTimes> BootTimes::load(sqlite3* db) {
  std::vector<BootTime> boots;
  Query query(db,
              "SELECT number, boot_id, first, last, minutes_until, quarters_until, trust, offset "
              "FROM boots LEFT JOIN (SELECT boot, max(trust) AS trust, offset FROM looks GROUP BY "
              "boot) ON boot=number ORDER BY number DESC");
  for (;;) {
    JETMEM_ASSIGN(const auto row, query.next());
    // Older ones are unknown then, and tidying drops what is of no boot that is known.
    if (!row || boots.size() == kMaxBoots) break;
    BootTime boot;
    boot.number = query.number(0);
    boot.boot_id = query.text(1);
    boot.first = Nanoseconds(query.number(2));
    boot.last = std::max(boot.first, Nanoseconds(query.number(3)));
    boot.minutes_until = Nanoseconds(query.number(4));
    boot.quarters_until = Nanoseconds(query.number(5));
    if (!query.is_null(6)) {
      boot.trust = static_cast<int>(std::clamp<std::int64_t>(query.number(6), 0, kSynced));
      boot.offset = Nanoseconds(query.number(7));
    }
    boots.push_back(std::move(boot));
  }
  std::reverse(boots.begin(), boots.end());
  return BootTimes(std::move(boots));
}

const BootTime* BootTimes::find(std::int64_t number) const {
  const auto found =
      std::lower_bound(boots_.begin(), boots_.end(), number,
                       [](const BootTime& boot, std::int64_t n) { return boot.number < n; });
  return found != boots_.end() && found->number == number ? &*found : nullptr;
}

Nanoseconds BootTimes::age(std::int64_t boot, Nanoseconds at, std::int64_t now,
                           Nanoseconds now_at) const {
  if (boot == now) return subtract(now_at, at);
  const BootTime* then = find(boot);
  const BootTime* current = find(now);
  if (then == nullptr || current == nullptr) return Nanoseconds::max();
  if (then->trusted && current->trusted) return subtract(current->wall(now_at), then->wall(at));
  Nanoseconds age = subtract(then->last, at);
  for (const BootTime& between : boots_) {
    if (between.number > boot && between.number < now) {
      age = add(age, subtract(between.last, between.first));
    }
  }
  return boot < now ? add(age, now_at) : age;
}

}  // namespace jetmem
