// SPDX-License-Identifier: Apache-2.0
// Which groups of processes have series of their own. Processes come and go; series must not.
//
// - The 20 largest of the first reading are shown.
// - Later a newcomer is shown once it was among the 20 largest in three readings in a row. If 20
// are
//   shown already it takes the place of the smallest of them, which is not among the 20 largest.
// - What is shown stays until it falls below the 40 largest, or is gone, or its place is taken.
// - At most 100 newcomers a day; those beyond are suppressed, and counted.
// All others are one group, "other".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "collectors/processes/group/groups.h"

namespace jetmem {

// How fast a figure grows: least squares over the last readings.
class Growth {
 public:
  void add(Nanoseconds when, std::uint64_t bytes);
  void clear() { count_ = next_ = 0; }
  // Bytes per second; none before five readings.
  std::optional<double> rate() const;

 private:
  static constexpr std::size_t kReadings = 15;
  static constexpr std::size_t kLeast = 5;

  struct Point {
    Nanoseconds when{0};
    std::uint64_t bytes = 0;
  };
  std::array<Point, kReadings> points_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

class ShownGroups {
 public:
  static constexpr std::size_t kMost = 20;
  static constexpr std::string_view kOther = "other";

  struct Shown {
    ProcessKey key;
    std::uint32_t group = 0;  // its index in this reading
    std::uint64_t bytes = 0;  // in this reading
    std::size_t rank = 0;
    Growth growth;
    unsigned readings = 0;  // in a row among the largest, before it was shown
    bool used = false;
    bool shown = false;
  };

  // bytes[i] belongs to groups[i]; a group has a member `key`. `awake` (WriteContext) is for rates,
  // `boot` for days.
  template <class Groups>
  void update(const Groups& groups, std::span<const std::uint64_t> bytes, Nanoseconds awake,
              Nanoseconds boot) {
    keys_.clear();
    for (const auto& group : groups) keys_.push_back(&group.key);
    update_keys(bytes, awake, boot);
  }
  // Whether the group of this index has series of its own.
  bool shows(std::size_t group) const;
  // In places that do not change while a group is shown. Look at `shown`.
  std::span<const Shown> all() const { return tracked_; }
  // Indexes of groups, the largest first, at most kKept of them.
  std::span<const std::uint32_t> largest() const { return largest_; }
  // How many should be shown and are not, because of the day's bound.
  std::size_t suppressed_count() const { return suppressed_count_; }
  // What the bytes are made of has changed: rates begin anew.
  void forget_growth();
  // Change with each update(), and with each forget_growth().
  std::uint64_t readings() const { return readings_; }
  std::uint64_t kind() const { return kind_; }

 private:
  static constexpr std::size_t kKept = 40;
  static constexpr unsigned kReadingsInRow = 3;
  static constexpr std::size_t kNewPerDay = 100;

  void update_keys(std::span<const std::uint64_t> bytes, Nanoseconds awake, Nanoseconds boot);
  void rank(std::span<const std::uint64_t> bytes);
  void find_tracked();
  void track_newcomers();
  void admit(Nanoseconds boot);
  void show(Shown& newcomer);

  // The shown ones, and as many that may become so.
  std::array<Shown, 2 * kMost> tracked_{};
  std::vector<const ProcessKey*> keys_;  // during update()
  std::vector<std::uint32_t> largest_;   // indexes of groups, the largest first, at most kKept
  bool first_ = true;
  Nanoseconds day_{0};
  std::size_t new_today_ = 0;
  std::size_t suppressed_count_ = 0;
  std::uint64_t readings_ = 0;
  std::uint64_t kind_ = 0;
};

}  // namespace jetmem
