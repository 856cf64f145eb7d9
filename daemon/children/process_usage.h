// SPDX-License-Identifier: Apache-2.0
// What one process uses, by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/root/facts.h"

namespace jetmem {

// What could not be read is absent; of another user's process the kernel may hide the descriptors.
struct ProcessUsage {
  std::optional<double> cpu_seconds;
  std::optional<double> start_time;  // seconds since 1970
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> virtual_bytes;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> open_fds;
  std::optional<std::int64_t> oom_score_adj;
};

// Nothing: the process is gone.
std::optional<ProcessUsage> read_process_usage(const Facts& facts, pid_t pid);

}  // namespace jetmem
