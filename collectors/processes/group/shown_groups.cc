// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/shown_groups.h"

#include <algorithm>

namespace jetmem {
namespace {

constexpr Nanoseconds kDay = std::chrono::hours(24);

bool is_reserved(const ProcessKey& key) {
  return key.command == ShownGroups::kOther && key.unit.empty() && key.container.empty();
}

}  // namespace

void Growth::add(Nanoseconds when, std::uint64_t bytes) {
  points_[next_] = {when, bytes};
  next_ = (next_ + 1) % kReadings;
  count_ = std::min(count_ + 1, kReadings);
}

std::optional<double> Growth::rate() const {
  if (count_ < kLeast) return std::nullopt;
  // Both relative to the newest: small numbers lose nothing in a double.
  const Point& newest = points_[(next_ + kReadings - 1) % kReadings];
  const auto n = static_cast<double>(count_);
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const double x = to_seconds(points_[i].when - newest.when);
    const double y = static_cast<double>(points_[i].bytes) - static_cast<double>(newest.bytes);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double spread = n * sum_xx - sum_x * sum_x;
  if (spread <= 0) return std::nullopt;  // all at one moment
  return (n * sum_xy - sum_x * sum_y) / spread;
}

void ShownGroups::update_keys(std::span<const std::uint64_t> bytes, Nanoseconds awake,
                              Nanoseconds boot) {
  rank(bytes);
  find_tracked();
  track_newcomers();
  admit(boot);
  for (Shown& one : tracked_) {
    if (!one.used) continue;
    one.bytes = bytes[one.group];
    one.growth.add(awake, one.bytes);
  }
  first_ = false;
  ++readings_;
}

bool ShownGroups::shows(std::size_t group) const {
  return std::any_of(tracked_.begin(), tracked_.end(),
                     [&](const Shown& one) { return one.shown && one.group == group; });
}

void ShownGroups::forget_growth() {
  for (Shown& one : tracked_) one.growth.clear();
  ++kind_;
}

void ShownGroups::rank(std::span<const std::uint64_t> bytes) {
  largest_.clear();
  for (std::uint32_t i = 0; i < keys_.size(); ++i) {
    // One that is really called so is among the others.
    if (!is_reserved(*keys_[i])) largest_.push_back(i);
  }
  const auto kept = std::min(largest_.size(), kKept);
  std::partial_sort(largest_.begin(), largest_.begin() + static_cast<long>(kept), largest_.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
                    });
  largest_.resize(kept);
}

// Whom we know, as it is now; who is gone or has become small is forgotten.
void ShownGroups::find_tracked() {
  for (Shown& one : tracked_) {
    if (!one.used) continue;
    const auto at = std::find_if(largest_.begin(), largest_.end(),
                                 [&](std::uint32_t group) { return *keys_[group] == one.key; });
    one.rank = static_cast<std::size_t>(at - largest_.begin());
    if (at == largest_.end() || (!one.shown && one.rank >= kMost)) {
      one.used = one.shown = false;
    } else {
      one.group = *at;
    }
  }
}

void ShownGroups::track_newcomers() {
  for (std::size_t rank = 0; rank < std::min(largest_.size(), kMost); ++rank) {
    const std::uint32_t group = largest_[rank];
    const auto is_it = [&](const Shown& one) { return one.used && one.group == group; };
    if (std::any_of(tracked_.begin(), tracked_.end(), is_it)) continue;
    // There is a place: at most kMost are shown, and at most kMost are among the largest.
    const auto location =
        std::find_if(tracked_.begin(), tracked_.end(), [](const Shown& one) { return !one.used; });
    if (location == tracked_.end()) return;
    location->key = *keys_[group];
    location->group = group;
    location->rank = rank;
    location->growth.clear();
    location->readings = 0;
    location->used = true;
    location->shown = false;
  }
}

void ShownGroups::admit(Nanoseconds boot) {
  if (first_ || boot - day_ >= kDay) {
    day_ = boot;
    new_today_ = 0;
  }
  suppressed_count_ = 0;
  for (std::size_t rank = 0; rank < std::min(largest_.size(), kMost); ++rank) {
    const auto one = std::find_if(tracked_.begin(), tracked_.end(), [&](const Shown& tracked) {
      return tracked.used && tracked.rank == rank;
    });
    if (one == tracked_.end() || one->shown) continue;
    if (first_) {
      one->shown = true;
    } else if (++one->readings >= kReadingsInRow) {
      show(*one);
    }
  }
}

void ShownGroups::show(Shown& newcomer) {
  if (new_today_ == kNewPerDay) {
    ++suppressed_count_;
    return;
  }
  Shown* smallest = nullptr;
  std::size_t shown = 0;
  for (Shown& one : tracked_) {
    if (!one.used || !one.shown) continue;
    ++shown;
    if (smallest == nullptr || one.rank > smallest->rank) smallest = &one;
  }
  if (shown == kMost) smallest->used = smallest->shown = false;
  newcomer.shown = true;
  ++new_today_;
}

}  // namespace jetmem
