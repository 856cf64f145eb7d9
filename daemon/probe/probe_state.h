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

#include "base/log.h"
#include "base/result.h"
#include "base/root/state_file.h"
#include "daemon/probe/probe_schedule.h"

namespace jetmem {

// A process, distinct from a later one with the same PID.
struct ProbeProcess {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // of /proc/<pid>/stat

  bool operator==(const ProbeProcess&) const = default;
};
// Parses a line of /proc/<pid>/stat; nothing unless it is a jetmem-probe that has not ended.
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

// The file with it, probe.json.
class ProbeStateStore {
 public:
  // `directory` empty: nothing is kept.
  ProbeStateStore(const std::string& directory, Log& log);

  void restore(ProbeSchedule& schedule, Nanoseconds now);
  // `pid`: of the process that runs, or is terminating.
  void save(const ProbeSchedule& schedule, pid_t pid);
  // Looks whether a process of an earlier daemon is still there; 0: none.
  pid_t find_orphan();
  // As of the last look.
  bool has_orphan() const { return orphan_.has_value(); }
  const StateFile& file() const { return file_; }

 private:
  StateFile file_;
  std::optional<ProbeProcess> orphan_;
};

}  // namespace jetmem
