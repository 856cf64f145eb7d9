// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/daemon_metrics.h"

#include <array>

#include "base/process/descriptor_limit.h"
#include "base/version.h"
#include "daemon/children/process_usage.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kMaxProcesses = 8;

constexpr std::array kDaemonMetrics{
    gauge("jetmem_build_info", "Always 1; the version of jetmem is a label.", {"version"}),
    counter("jetmem_process_cpu_seconds_total",
            "CPU time that a process of jetmem has used. Restarts at 0 with the process.",
            {"process"}, kMaxProcesses),
    gauge("jetmem_process_resident_memory_bytes",
          "Memory that a process of jetmem holds, shared libraries included.", {"process"},
          kMaxProcesses),
    gauge("jetmem_process_threads", "Threads of a process of jetmem.", {"process"}, kMaxProcesses),
    gauge("jetmem_process_open_fds",
          "Open file descriptors of a process of jetmem; absent where permission is denied.",
          {"process"}, kMaxProcesses),
    gauge("jetmem_process_max_fds",
          "Limit on open file descriptors of jetmemd. HTTP connections leave 256 of them to the "
          "rest of the daemon.",
          {"process"}, 1),
    gauge("jetmem_process_oom_score_adj",
          "OOM score adjustment of a process of jetmem, -1000 to 1000: when memory runs out, the "
          "kernel kills those with higher values first. jetmemd.service sets -900.",
          {"process"}, kMaxProcesses),
    gauge(
        "jetmem_process_start_time_seconds",
        "When a process of jetmem started, in seconds since 1970 by the clock of jetmemd's start.",
        {"process"}, kMaxProcesses),
    counter("jetmem_sample_cycles_total",
            "Sample cycles since the daemon started. When this stops growing, every sampled value "
            "is stale."),
    gauge("jetmem_sample_cycle_duration_seconds", "Duration of the last sample cycle.", {}, 1,
          Worst::kMax),
    gauge("jetmem_sample_cycle_lag_seconds",
          "How late the last sample cycle began. High values mean that the machine is overloaded "
          "or short of memory.",
          {}, 1, Worst::kMax),
    counter("jetmem_sample_cycles_missed_total",
            "Due times of sources that passed without a sample cycle: the machine was suspended, "
            "or the daemon did not get to run."),
    gauge("jetmem_reader",
          "1 for the kind of reader in use: socket is systemd's, with its privilege; spawned has "
          "only the daemon's own rights, so sources that need more are denied. Both 0: none is "
          "running.",
          {"kind"}, 2),
    counter("jetmem_reader_starts_total",
            "Times a jetmem-reader was started or connected to. Grows when readers exit or hang."),
    counter("jetmem_reader_timeouts_total",
            "Reads that did not return in time. The source named in the journal hangs in the "
            "kernel, a driver or firmware."),
    counter("jetmem_reader_failures_total",
            "Times that jetmem-reader could not be started, exited unexpectedly or broke its "
            "protocol."),
    gauge("jetmem_readers_wedged",
          "Readers that hang in the kernel although they were killed. At reader.max_wedged no "
          "further one is started."),
    counter("jetmem_log_entries_total", "Log entries written."),
    counter("jetmem_log_dropped_total",
            "Log entries dropped because the journal or terminal was too slow."),
    counter("jetmem_log_failures_total", "Log entries that the journal or terminal refused."),
    counter("jetmem_log_suppressed_total",
            "Log entries suppressed by a rate limit, those about events, alerts and programs "
            "included."),
    gauge("jetmem_duplicate_series",
          "Series omitted because another has the same name and labels. Above 0 it is an internal "
          "error, please report it."),
    counter("jetmem_config_reloads_total", "Reloads of the settings, by result (taken, refused).",
            {"result"}, 2),
};
enum DaemonMetric {
  kBuildInfo,
  kCpu,
  kRss,
  kThreads,
  kFds,
  kMaxFds,
  kOomScoreAdj,
  kStartTime,
  kCycles,
  kCycleTime,
  kCycleLag,
  kMissed,
  kReaderKind,
  kReaderStarts,
  kReaderTimeouts,
  kReaderFailures,
  kReaderWedged,
  kLogWritten,
  kLogDropped,
  kLogFailed,
  kLogSuppressed,
  kHiddenSeries,
  kReloads,
};

}  // namespace

std::span<const Descriptor> daemon_metrics() { return kDaemonMetrics; }

void write_process_usage(SampleWriter& out, const Facts& facts, pid_t pid, std::string_view name) {
  const auto usage = read_process_usage(facts, pid);
  if (!usage) return;
  out.put(kDaemonMetrics[kCpu], usage->cpu_seconds, name);
  out.put(kDaemonMetrics[kStartTime], usage->start_time, name);
  out.put(kDaemonMetrics[kRss], usage->resident_bytes, name);
  out.put(kDaemonMetrics[kThreads], usage->threads, name);
  out.put(kDaemonMetrics[kOomScoreAdj], usage->oom_score_adj, name);
  out.put(kDaemonMetrics[kFds], usage->open_fds, name);
}

void write_cycle_metrics(SampleWriter& out, const DaemonCounters& c) {
  out.put(kDaemonMetrics[kCycles], c.cycles);
  out.put(kDaemonMetrics[kCycleTime], to_seconds(c.last_cycle_time));
  out.put(kDaemonMetrics[kCycleLag], to_seconds(c.last_lag));
  out.put(kDaemonMetrics[kMissed], c.missed_cycles);
}

void write_daemon_metrics(SampleWriter& out, const DaemonCounters& c) {
  const auto put = [&](DaemonMetric metric, std::uint64_t value) {
    out.put(kDaemonMetrics[metric], static_cast<double>(value));
  };
  out.put(kDaemonMetrics[kBuildInfo], 1, kVersion);
  out.put(kDaemonMetrics[kMaxFds], static_cast<double>(descriptor_limit().soft), "jetmemd");
  out.put(kDaemonMetrics[kReaderKind], c.reader_from_socket ? 1 : 0, "socket");
  out.put(kDaemonMetrics[kReaderKind], c.reader_spawned ? 1 : 0, "spawned");
  put(kReaderStarts, c.reader_starts);
  put(kReaderTimeouts, c.reader_timeouts);
  put(kReaderFailures, c.reader_failures);
  put(kReaderWedged, c.readers_wedged);
  put(kLogWritten, c.log_written);
  put(kLogDropped, c.log_dropped);
  put(kLogFailed, c.log_failed);
  put(kLogSuppressed, c.suppressed_log_entries);
  put(kHiddenSeries, c.hidden_series);
  out.put(kDaemonMetrics[kReloads], static_cast<double>(c.reloads_ok), "taken");
  out.put(kDaemonMetrics[kReloads], static_cast<double>(c.reloads_refused), "refused");
}

}  // namespace jetmem
