// SPDX-License-Identifier: Apache-2.0
// jetmem's own figures: what the daemon and its children cost, and how well it works.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/root/facts.h"
#include "metrics/sample.h"

namespace jetmem {

// Counters that the loop keeps and others may not touch.
struct DaemonCounters {
  std::uint64_t cycles = 0;
  Nanoseconds last_cycle_time{0};  // how long the last round's work took
  Nanoseconds last_lag{0};         // how late it began
  std::uint64_t missed_cycles = 0;

  bool reader_from_socket = false;
  bool reader_spawned = false;
  std::uint64_t reader_starts = 0;
  std::uint64_t reader_timeouts = 0;
  std::uint64_t reader_failures = 0;
  std::uint64_t readers_wedged = 0;

  std::uint64_t log_written = 0;
  std::uint64_t log_dropped = 0;
  std::uint64_t log_failed = 0;
  std::uint64_t suppressed_log_entries = 0;
  std::uint64_t hidden_series = 0;

  std::uint64_t reloads_ok = 0;
  std::uint64_t reloads_refused = 0;
};

// The samples of one process; nothing when it is gone.
void write_process_usage(SampleWriter& out, const Facts& facts, pid_t pid, std::string_view name);

// Of each cycle, as its worst values of a minute are kept.
void write_cycle_metrics(SampleWriter& out, const DaemonCounters& counters);
void write_daemon_metrics(SampleWriter& out, const DaemonCounters& counters);

// Every metric that the three above write.
std::span<const Descriptor> daemon_metrics();

}  // namespace jetmem
