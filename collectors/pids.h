// The processes among the names in /proc, for gatherers that walk over them.
#pragma once

#include <string>
#include <vector>

namespace jetmem {

// Keeps the numbers only, the smallest first: a walk that must end early has then seen what has run
// since boot, and loses what came last. In the order of their digits "9" would always come last.
void keep_pids(std::vector<std::string>& names);

// Whether process 1 is among them, so sorted. It is always there, but hidden with hidepid.
inline bool has_first_pid(const std::vector<std::string>& pids) {
  return !pids.empty() && pids.front() == "1";
}

}  // namespace jetmem
