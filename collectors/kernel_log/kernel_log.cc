// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/kernel_log.h"

#include <algorithm>
#include <utility>

namespace jetmem::kernel_log {

KernelLog::KernelLog(const Clock& clock, Options options, OnEvent on_event)
    : clock_(clock),
      on_event_(std::move(on_event)),
      feed_(options.soc, [this](const Event& event) { this->on_event(event); }) {
  feed_.set_accept_foreign(options.accept_user_records);
}

void KernelLog::record(std::string_view raw) {
  if (auto parsed = parse_record(raw, record_); !parsed) {
    ++counters_.records;
    ++counters_.malformed;
    return;
  }
  // Seen before a restart.
  if (last_seq_ && record_.seq <= *last_seq_) return feed_.remember(record_.line());
  ++counters_.records;
  // What the journal gave has no numbers: how many are missing behind it is unknown.
  if (std::exchange(last_was_line_, false)) {
    input_changed();
  } else {
    const std::uint64_t expected = last_seq_ ? *last_seq_ + 1 : 0;
    (last_seq_ ? counters_.lost : counters_.lost_before_start) += record_.seq - expected;
  }
  last_seq_ = record_.seq;
  feed(record_.line());
}

void KernelLog::line(const LogLine& line) {
  if (!is_process(line.voice)) ++counters_.records;
  const auto before = last_stamp_;
  feed(line);
  if (!captured_ && last_stamp_ != before) last_was_line_ = true;
}

void KernelLog::feed(LogLine line) {
  line.number = ++lines_;
  line.from_before |= !caught_up_;
  const bool believed =
      line.voice == Voice::kKernel || (line.voice == Voice::kForeign && feed_.accepts_foreign());
  if (believed && line.stamp) {
    if (skip_until_ && *line.stamp <= *skip_until_) return feed_.remember(line);
    skip_until_.reset();
    // Several CPUs' lines may come out of order.
    last_stamp_ = std::max(last_stamp_.value_or(*line.stamp), *line.stamp);
  }
  feed_.feed(line);
  counters_.foreign = feed_.foreign();
}

void KernelLog::caught_up() {
  if (caught_up_) return;
  flush();
  caught_up_ = true;
}

void KernelLog::on_event(const Event& event) {
  if (event.is_guess()) {
    const Occurrence occurrence = tally_.count_guess(event, time_of(event), event.from_before);
    if (on_event_) on_event_(event, occurrence);
    return;
  }
  const Occurrence occurrence = tally_.count(event, time_of(event), event.from_before);
  if (event.kind() == EventKind::kRatelimitSuppressed) {
    const EventKind kind = suppressed_kind(event.text("function"));
    const std::int64_t count = event.number("count").value_or(0);
    if (kind != EventKind::kNone && count > 0) {
      // The kernel counts in an int; more is not its own.
      tally_.add_suppressed(kind,
                            static_cast<std::uint64_t>(std::min<std::int64_t>(count, INT32_MAX)),
                            occurrence.time);
    }
  }
  if (on_event_) on_event_(event, occurrence);
}

std::optional<Nanoseconds> KernelLog::time_of(const Event& event) const {
  if (captured_) return event.stamp;
  // A new event happened a moment ago. The log's own clock is not slewed, and days of it drift.
  if (!event.from_before && !event.late) return clock_.boot();
  if (!event.stamp) return std::nullopt;
  // It stops in suspend, as the monotonic one does.
  const Nanoseconds age = std::max(clock_.mono() - Nanoseconds(*event.stamp), Nanoseconds(0));
  return std::max(clock_.boot() - age, Nanoseconds(0));
}

}  // namespace jetmem::kernel_log
