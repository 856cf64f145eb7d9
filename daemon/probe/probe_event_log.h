// SPDX-License-Identifier: Apache-2.0
// The journal's entries on probes: each kind's change of state with the evidence of the moment, and
// one line that sums up the first results.
#pragma once

#include <array>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/probe/source.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/probe/probe_stats.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeEventLog {
 public:
  // A GPU that is lost takes all its kinds along, so there are more than of other programs.
  static constexpr RateLimitedLog::Limits kLimits{.per_key = 16};

  ProbeEventLog(Log& log, const Clock& clock)
      : log_(log, clock, ProbeSource::kInfo.name, kLimits) {}

  // A run that succeeded: the first of its group since the daemon's start is logged.
  void succeeded(ProbeGroup group, const ProbeRun& run);
  // Logs a change. `run`: what the result is part of; null when the program did not return.
  void result(const ProbeRun::Probe& probe, const ProbeStats::Change& change,
              const GateInputs& memory, const ProbeRun* run);
  std::uint64_t suppressed() const { return log_.suppressed(); }

 private:
  ChildProcessLog log_;
  std::array<bool, kProbeGroups> logged_first_{};
};

// "dmabuf system"
std::string probe_name(const ProbeRun::Probe& probe);

}  // namespace jetmem
