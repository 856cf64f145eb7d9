// SPDX-License-Identifier: Apache-2.0
// When jetmemd was started in this boot: the file "starts" of its runtime directory (systemd's
// RuntimeDirectory=, /run/jetmem). In memory, so it is written at each start, also of one that is
// killed a moment later; the history of boots (history.h), on flash, is not.
//
//   5b0f...      (the boot's ID)
//   since 4000   (only where starts before it are not known)
//   all 61       (starts in this boot; "more": in addition to those that the history of boots has)
//   stopped 12   (of the runs that began with those: ended cleanly; absent: not known)
//   12
//   4711         (seconds since boot, one line for each start, oldest first)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem::boot {

inline constexpr std::string_view kStartsFile = "starts";

struct Starts {
  static constexpr std::size_t kMost = 16;

  std::string boot;
  std::uint64_t since = 0;  // starts before this second of the boot are not known
  std::uint64_t count = 0;
  bool is_total = false;  // else of those that the history of boots does not have yet
  std::optional<std::uint64_t> stopped;  // of those: runs that ended cleanly
  std::vector<std::uint64_t> at;         // the last kMost

  void add(std::string_view boot_id, Nanoseconds boot_now);
  // Where there was something that could not be read.
  void start_over(std::string_view boot_id, Nanoseconds boot_now);
  // Within the hour before; kMost stands for that many or more. Nothing while there may have been
  // others within it.
  std::optional<std::size_t> recent(Nanoseconds boot_now) const;
  bool operator==(const Starts&) const = default;
};

std::string to_text(const Starts& starts);
// Refuses a text that was cut, or is of another format.
Result<void> parse_starts(std::string_view text, Starts& out);

}  // namespace jetmem::boot
