#include "history/recorder_figures.h"

namespace jetmem {
namespace {

constexpr auto kGauge = MetricType::kGauge;
constexpr auto kCounter = MetricType::kCounter;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_history_up",
               .type = kGauge,
               .help =
                   "1 while the flight recorder can write its file; 0 while it cannot, or has "
                   "nowhere to: what it takes waits in memory, and the oldest of it is lost "
                   "after an hour or so. The journal says why. Absent when it is switched off."},
    Descriptor{
        .name = "jetmem_history_bytes",
        .type = kGauge,
        .help = "What the flight recorder takes of the disk: its file, the journal and its index, "
                "and files that were set aside."},
    Descriptor{.name = "jetmem_history_max_bytes",
               .type = kGauge,
               .help = "The most that it may take (history.max_size); the oldest goes first."},
    Descriptor{.name = "jetmem_history_series",
               .type = kGauge,
               .help = "Series that the flight recorder took in its last step."},
    Descriptor{.name = "jetmem_history_waiting_steps",
               .type = kGauge,
               .help = "Steps that wait in memory to be written. Up to 180 is as it should be: "
                       "they are written each half hour, and at once when trouble shows."},
    Descriptor{.name = "jetmem_history_steps_total",
               .type = kCounter,
               .help = "Steps that the flight recorder has taken since the start."},
    Descriptor{.name = "jetmem_history_writes_total",
               .type = kCounter,
               .help = "Times that what waited was written, by why: full is the half hour's; the "
                       "others are written early, so that a death does not take them along.",
               .labels = {"why"},
               .max_series = 5},
    Descriptor{.name = "jetmem_history_write_seconds",
               .type = kGauge,
               .help = "How long the last write took. Seconds mean that the disk is slow or worn; "
                       "sampling does not wait for it."},
    Descriptor{.name = "jetmem_history_written_bytes_total",
               .type = kCounter,
               .help = "Bytes that the flight recorder gave to the file system: what wears the "
                       "flash. Absent where the kernel does not count it."},
    Descriptor{.name = "jetmem_history_errors_total",
               .type = kCounter,
               .help =
                   "Writes that failed, or would have. disk_full and read_only are what they say; "
                   "hangs: the disk does not answer; damaged: the file is set aside and a new "
                   "one begun; busy: another program holds the file; io: look at the kernel's "
                   "log; no_thread: the system gave jetmemd no thread.",
               .labels = {"reason"},
               .max_series = 7},
    Descriptor{.name = "jetmem_history_lost_steps_total",
               .type = kCounter,
               .help = "Steps that are missing in the past. not_written: the disk could not, and "
                       "memory was full; no_room: some series had no room beside 512 others, or "
                       "beside 4096 in half a day.",
               .labels = {"reason"},
               .max_series = 2},
    Descriptor{.name = "jetmem_history_lost_events_total",
               .type = kCounter,
               .help = "Events that are missing in the past. not_written: the disk could not, and "
                       "memory was full; no_room: too many different ones in too short a time.",
               .labels = {"reason"},
               .max_series = 2},
    Descriptor{.name = "jetmem_history_set_aside_total",
               .type = kCounter,
               .help = "Damaged files that were set aside since the start. The past that they had "
                       "is no longer shown; they lie beside the new one as history.db.damaged-N."},
    Descriptor{.name = "jetmem_history_read_errors_total",
               .type = kCounter,
               .help = "Questions to the past for which its file could not be read. Who asked, the "
                       "page or a command, got what waits in memory, and was told so. Why is in "
                       "the log: look at the disk and at the permissions of history.db."},
    Descriptor{.name = "jetmem_history_oldest_timestamp_seconds",
               .type = kGauge,
               .help = "How far back the past reaches, in seconds since 1970, as of the last "
                       "write."},
    Descriptor{.name = "jetmem_history_last_write_timestamp_seconds",
               .type = kGauge,
               .help = "When the flight recorder wrote last, in seconds since 1970. More than an "
                       "hour ago: see jetmem_history_up."},
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
  kSetAside,
  kReadErrors,
  kOldest,
  kLastWrite,
};

}  // namespace

std::span<const Descriptor> RecorderFigures::metrics() { return kMetrics; }

void RecorderFigures::write(SampleWriter& out, Nanoseconds wall_offset) const {
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
    for (std::size_t i = 0; i < kWhys.size(); ++i) {
      out.put(kMetrics[kWrites], static_cast<double>(writes[i]), kWhys[i]);
    }
    if (write_seconds) out.put(kMetrics[kWriteSeconds], *write_seconds);
    if (written_bytes) put(kWritten, *written_bytes + file.tidied);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      out.put(kMetrics[kErrors], static_cast<double>(errors[i]), RecorderThread::kReasons[i]);
    }
  }
  out.put(kMetrics[kLostSteps], static_cast<double>(lost_steps_not_written), "not_written");
  out.put(kMetrics[kLostSteps], static_cast<double>(lost_steps_no_room), "no_room");
  out.put(kMetrics[kLostEvents], static_cast<double>(lost_events_not_written), "not_written");
  out.put(kMetrics[kLostEvents], static_cast<double>(lost_events_no_room), "no_room");
  if (!has_file) return;
  put(kSetAside, set_aside);
  put(kReadErrors, unread);
  if (file.oldest) out.put(kMetrics[kOldest], to_seconds(*file.oldest));
  if (last_write) out.put(kMetrics[kLastWrite], to_seconds(*last_write + wall_offset));
}

}  // namespace jetmem
