// SPDX-License-Identifier: Apache-2.0
// Two lines of a process: /proc/<pid>/stat and /proc/<pid>/statm (fs/proc/array.c, task_mmu.c).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace jetmem {

struct PidStat {
  // Absent where it is no number.
  std::optional<std::uint64_t> utime_ticks;  // divide by Facts::clock_ticks_per_second
  std::optional<std::uint64_t> stime_ticks;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> start_ticks;  // after boot
  char state = '?';                          // R, S, D, Z ...
};

// The second field is the command name in parentheses and may hold blanks and parentheses itself:
// fields are counted from the last ')'. Errors: a text that ends before its fields do.
Result<PidStat> parse_pid_stat(std::string_view text);

// Resident pages, the second number of statm; multiply by Facts::page_size. Not from stat, whose
// number is a sum that leaves out what each CPU has not handed in: since 6.2 a small process may be
// said to have 0. statm is exact again from about 6.16. Absent when 0: nothing runs in no memory.
std::optional<std::uint64_t> parse_resident_pages(std::string_view statm);

}  // namespace jetmem
