// SPDX-License-Identifier: Apache-2.0
// What is kept of probes over a restart of the daemon within one boot: when each group was probed
// last and how long it is left alone, and the process that may be left behind. A daemon that dies
// again and again must not load the GPU again and again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/probe/probe_schedule.h"

namespace jetmem {

// A process, told from a later one of the same number.
struct ProbeProcess {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // of /proc/<pid>/stat

  bool operator==(const ProbeProcess&) const = default;
};
// Of a line of /proc/<pid>/stat: nothing unless it is a jetmem-probe of which something is left.
std::optional<ProbeProcess> probe_process_of(std::string_view stat);
// The one of this number now.
std::optional<ProbeProcess> find_probe_process(pid_t pid);

struct SavedProbes {
  static constexpr int kFormat = 1;
  static constexpr std::size_t kMaxBytes = 4096;

  ProbeSchedule::Saved schedule;
  std::optional<ProbeProcess> process;

  bool operator==(const SavedProbes&) const = default;
};

// JSON, some hundred bytes.
std::string to_text(const SavedProbes& state);
// Refuses a truncated text; what is in it need not be trusted.
Result<SavedProbes> parse_probe_state(std::string_view text);

}  // namespace jetmem
