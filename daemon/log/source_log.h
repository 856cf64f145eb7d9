// SPDX-License-Identifier: Apache-2.0
// Logs changes of a source's state: one line for a change, never one for a cycle, and a bounded
// number for a source that keeps changing.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limited_log.h"
#include "collectors/sampler/sampler.h"

namespace jetmem {

class SourceLog {
 public:
  SourceLog(Log& log, const Clock& clock) : log_(log, {.writes_last = true}), clock_(clock) {}

  void changed(const SourceInfo& info, const SourceStatus& status);
  // To be called now and then: reports the state of a source whose last changes were suppressed.
  void flush_due() { log_.flush_due(clock_.boot()); }
  // Changes that were not logged, since start.
  std::uint64_t suppressed() const { return log_.suppressed(); }

 private:
  RateLimitedLog log_;
  const Clock& clock_;
  std::set<std::string_view> seen_;
};

}  // namespace jetmem
