// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder_stats.h"

namespace jetmem {
namespace {

constexpr auto kGauge = MetricType::kGauge;
constexpr auto kCounter = MetricType::kCounter;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_history_up",
               .type = kGauge,
               .help = "1 while the flight recorder can write its file; 0 while it cannot: "
                       "what it records stays in memory, and the oldest of it is lost after "
                       "about an hour. The journal of jetmemd has the reason. Absent when the "
                       "recorder is disabled."},
    Descriptor{.name = "jetmem_history_bytes",
               .type = kGauge,
               .help =
                   "Disk space of the flight recorder: its file, SQLite's journal and index, and "
                   "quarantined files."},
    Descriptor{.name = "jetmem_history_max_bytes",
               .type = kGauge,
               .help = "Limit of that disk space (history.max_size); the oldest values are "
                       "deleted first."},
    Descriptor{.name = "jetmem_history_series",
               .type = kGauge,
               .help = "Series in the flight recorder's last snapshot."},
    Descriptor{.name = "jetmem_history_pending_snapshots",
               .type = kGauge,
               .help = "Snapshots in memory, not yet written. Up to 180 is normal: they are "
                       "written every half hour, and at once when there is trouble."},
    Descriptor{.name = "jetmem_history_snapshots_total",
               .type = kCounter,
               .help = "Snapshots taken by the flight recorder since the start."},
    Descriptor{.name = "jetmem_history_writes_total",
               .type = kCounter,
               .help = "Writes of pending snapshots, by reason: full is the half-hourly one; the "
                       "others are early writes, so that a crash loses less.",
               .labels = {"reason"},
               .max_series = 5},
    Descriptor{.name = "jetmem_history_write_seconds",
               .type = kGauge,
               .help = "Duration of the last write. Seconds mean that the disk is slow or worn; "
                       "sampling does not wait for it."},
    Descriptor{.name = "jetmem_history_written_bytes_total",
               .type = kCounter,
               .help = "Bytes that the flight recorder wrote to the file system: what wears the "
                       "flash. Absent where the kernel does not count it."},
    Descriptor{.name = "jetmem_history_errors_total",
               .type = kCounter,
               .help = "Failed writes, by reason: disk_full; read_only; hangs, the disk does "
                       "not answer; damaged, the file is quarantined and a new one started; "
                       "busy, another program locks the file; io, see the kernel log; "
                       "no_thread, jetmemd could not start a thread.",
               .labels = {"reason"},
               .max_series = 7},
    Descriptor{.name = "jetmem_history_lost_snapshots_total",
               .type = kCounter,
               .help = "Snapshots lost, by reason: not_written, the disk failed and memory was "
                       "full; no_room, more than 512 series in a snapshot, or 4096 in half a day.",
               .labels = {"reason"},
               .max_series = 2},
    Descriptor{.name = "jetmem_history_lost_events_total",
               .type = kCounter,
               .help = "Events lost, by reason: not_written, the disk failed and memory was full; "
                       "no_room, too many different ones in too short a time.",
               .labels = {"reason"},
               .max_series = 2},
    Descriptor{.name = "jetmem_history_quarantined_files_total",
               .type = kCounter,
               .help = "Damaged files quarantined since the start. Their values are no longer "
                       "shown; they are kept as history.db.damaged-N."},
    Descriptor{.name = "jetmem_history_read_errors_total",
               .type = kCounter,
               .help = "Queries for which the file could not be read. The answer has only what is "
                       "in memory, and says so. The log has the reason: check the disk and the "
                       "permissions of history.db."},
    Descriptor{.name = "jetmem_history_oldest_timestamp_seconds",
               .type = kGauge,
               .help = "Time of the oldest recorded value, in seconds since 1970, as of the last "
                       "write."},
    Descriptor{.name = "jetmem_history_last_write_timestamp_seconds",
               .type = kGauge,
               .help = "Time of the last write, in seconds since 1970. More than an hour ago: see "
                       "jetmem_history_up."},
};
enum Metric {
  kUp,
  kBytes,
  kMaxBytes,
  kSeries,
  kWaiting,
  kSteps,
  kWrites,
  kWriteSeconds,
  kWritten,
  kErrors,
  kLostSteps,
  kLostEvents,
  kQuarantined,
  kReadErrors,
  kOldest,
  kLastWrite,
};

}  // namespace

std::span<const Descriptor> RecorderStats::metrics() { return kMetrics; }

void RecorderStats::write(SampleWriter& out, Nanoseconds wall_offset) const {
  const auto put = [&](Metric metric, std::uint64_t value) {
    out.put(kMetrics[metric], static_cast<double>(value));
  };
  put(kUp, up ? 1 : 0);
  if (has_file) {
    if (file.version > 0) put(kBytes, file.bytes);
    put(kMaxBytes, max_bytes);
  }
  put(kSeries, series);
  put(kWaiting, waiting_steps);
  put(kSteps, steps);
  if (has_file) {
    for (std::size_t i = 0; i < kWriteReasons.size(); ++i) {
      out.put(kMetrics[kWrites], static_cast<double>(writes[i]), kWriteReasons[i]);
    }
    if (write_seconds) out.put(kMetrics[kWriteSeconds], *write_seconds);
    if (written_bytes) put(kWritten, *written_bytes + file.tidied);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      out.put(kMetrics[kErrors], static_cast<double>(errors[i]), RecorderThread::kReasons[i]);
    }
  }
  out.put(kMetrics[kLostSteps], static_cast<double>(lost_steps_not_written), "not_written");
  out.put(kMetrics[kLostSteps], static_cast<double>(lost_steps_full), "no_room");
  out.put(kMetrics[kLostEvents], static_cast<double>(lost_events_not_written), "not_written");
  out.put(kMetrics[kLostEvents], static_cast<double>(lost_events_full), "no_room");
  if (!has_file) return;
  put(kQuarantined, quarantine);
  put(kReadErrors, unread);
  if (file.oldest) out.put(kMetrics[kOldest], to_seconds(*file.oldest));
  if (last_write) out.put(kMetrics[kLastWrite], to_seconds(*last_write + wall_offset));
}

}  // namespace jetmem
