// SPDX-License-Identifier: Apache-2.0
// How often each group of probes was skipped, and why: counted each time, logged when it changes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/children/child_process_stats.h"
#include "daemon/probe/probe_schedule.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeSkips {
 public:
  // The gates' reasons, and four of the program's own.
  static constexpr std::size_t kPreviousRunUnfinished = kGateReasons;
  static constexpr std::size_t kBackoff = kGateReasons + 1;
  static constexpr std::size_t kCgroupHeadroom = kGateReasons + 2;
  static constexpr std::size_t kDisabled = kGateReasons + 3;
  static constexpr std::size_t kReasons = kGateReasons + 4;
  static std::string_view name(std::size_t reason);

  explicit ProbeSkips(ChildProcessLog& log) : log_(log) {}

  void skip(ProbeGroup group, std::size_t reason, const std::string& words);
  // A pause after a failure, which was logged.
  void count_backoff(ProbeGroup group) { ++of(group).counts[kBackoff]; }
  // One that ran was ended because the group is disabled now.
  void count_disabled(ProbeGroup group);
  // The group is probed again.
  void resume(ProbeGroup group);
  // Nothing is known any more of whether it is skipped.
  void forget(ProbeGroup group) { of(group).skipping.reset(); }
  std::uint64_t count(ProbeGroup group, std::size_t reason) const {
    return groups_[static_cast<std::size_t>(group)].counts[reason];
  }

 private:
  struct Group {
    std::array<std::uint64_t, kReasons> counts{};
    // Skipped now, for this reason, so many times in a row.
    std::optional<std::size_t> skipping;
    std::uint64_t in_a_row = 0;
  };
  Group& of(ProbeGroup group) { return groups_[static_cast<std::size_t>(group)]; }

  ChildProcessLog& log_;
  std::array<Group, kProbeGroups> groups_;
};

}  // namespace jetmem
