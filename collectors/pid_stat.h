// One line of /proc/<pid>/stat (fs/proc/array.c): what a process has used.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace jetmem {

struct PidStat {
  std::uint64_t utime_ticks = 0;  // divide by Facts::clock_ticks_per_second
  std::uint64_t stime_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;  // after boot
  std::uint64_t rss_pages = 0;    // multiply by Facts::page_size
  char state = '?';               // R, S, D, Z ...
};

// The second field is the command name in parentheses and may hold blanks and parentheses itself:
// fields are counted from the last ')'.
Result<PidStat> parse_pid_stat(std::string_view text);

}  // namespace jetmem
