// SPDX-License-Identifier: Apache-2.0
// Counts the starts, failures and output of every program that the daemon runs, and logs them at a
// limited rate.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/child_process.h"
#include "base/rate_limited_log.h"
#include "metrics/sample.h"

namespace jetmem {

struct ChildProcessStats {
  std::uint64_t starts = 0;
  std::array<std::uint64_t, kChildProcessFailures> failures{};
  std::uint64_t lines = 0;
  std::uint64_t superseded = 0;  // lines that nobody took before the next came
  std::uint64_t too_long = 0;    // lines without an end
  bool wedged = false;

  void failed(ChildProcessFailure why) { ++failures[static_cast<std::size_t>(why)]; }
};

// Every sample, each time in the same order.
void write_child_process_stats(SampleWriter& out, std::string_view program,
                               const ChildProcessStats& stats);
std::span<const Descriptor> child_process_metrics();

// The entries about one source or program.
class ChildProcessLog {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  ChildProcessLog(Log& log, const Clock& clock, std::string_view source,
                  RateLimitedLog::Limits limits = {})
      : log_(log, {}), clock_(clock), source_(source), limits_(limits) {}
  void log_message(LogLevel level, std::string message, Fields fields = {}) {
    fields.emplace_back("JETMEM_SOURCE", source_);
    log_.write(clock_.boot(), {level, std::move(message), std::move(fields)}, limits_);
  }
  std::uint64_t suppressed() const { return log_.suppressed(); }

 private:
  RateLimitedLog log_;
  const Clock& clock_;
  std::string source_;
  RateLimitedLog::Limits limits_;
};

}  // namespace jetmem
