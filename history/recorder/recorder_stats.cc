// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder_stats.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    gauge("jetmem_history_up",
          "1 while the flight recorder can write its file; 0 while it cannot: what it records "
          "stays in memory, and the oldest of it is lost after about an hour. The journal of "
          "jetmemd has the reason. Also 0 where it has no directory for one "
          "(jetmem_history_errors_total is absent then). Absent when the recorder is disabled."),
    gauge("jetmem_history_bytes",
          "Disk space of the flight recorder: its file, SQLite's journal and index, and "
          "quarantined files."),
    gauge("jetmem_history_max_bytes",
          "Limit of that disk space (history.max_size); the oldest values are deleted first."),
    gauge("jetmem_history_series", "Series in the flight recorder's last snapshot."),
    gauge("jetmem_history_pending_snapshots",
          "Snapshots in memory, not yet written. Up to 180 is normal: they are written every half "
          "hour, and at once when there is trouble."),
    counter("jetmem_history_snapshots_total",
            "Snapshots taken by the flight recorder since the start."),
    counter("jetmem_history_writes_total",
            "Writes of pending snapshots, by reason: full is the half-hourly one; the others are "
            "early writes, so that a crash loses less.",
            {"reason"}, 5),
    gauge("jetmem_history_write_seconds",
          "Duration of the last write. Seconds mean that the disk is slow or worn; sampling does "
          "not wait for it."),
    counter("jetmem_history_written_bytes_total",
            "Bytes that the flight recorder wrote to the file system: what wears the flash. Absent "
            "where the kernel does not count it."),
    counter("jetmem_history_errors_total",
            "Failed writes, by reason: disk_full; read_only; hangs, the disk does not answer; "
            "damaged, the file is quarantined and a new one started; busy, another program locks "
            "the file; io, see the kernel log; no_thread, jetmemd could not start a thread.",
            {"reason"}, 7),
    counter("jetmem_history_lost_snapshots_total",
            "Snapshots lost, by reason: not_written, the disk failed and memory was full; no_room, "
            "more than 512 series in a snapshot, or 4096 in half a day.",
            {"reason"}, 2),
    counter("jetmem_history_lost_events_total",
            "Events lost, by reason: not_written, the disk failed and memory was full; no_room, "
            "too many different ones in too short a time.",
            {"reason"}, 2),
    counter("jetmem_history_quarantined_files_total",
            "Damaged files quarantined since the start. Their values are no longer shown; they are "
            "kept as history.db.damaged-N."),
    counter("jetmem_history_read_errors_total",
            "Queries for which the file could not be read; their answers contain only what is in "
            "memory. The log has the reason: check the disk and the permissions of history.db."),
    gauge("jetmem_history_oldest_timestamp_seconds",
          "Time of the oldest recorded value, in seconds since 1970, as of the last write."),
    gauge("jetmem_history_last_write_timestamp_seconds",
          "Time of the last write, in seconds since 1970. More than an hour ago: see "
          "jetmem_history_up."),
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
