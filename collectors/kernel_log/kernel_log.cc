#include "collectors/kernel_log/kernel_log.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "collectors/kernel_log/suppressed.h"

namespace jetmem::kernel_log {

KernelLog::KernelLog(const Clock& clock, Options options, OnEvent on_event)
    : clock_(clock),
      options_(options),
      on_event_(std::move(on_event)),
      assembler_(options.soc, [this](const Event& event) { this->on_event(event); }) {}

void KernelLog::record(std::string_view raw) {
  if (auto parsed = parse_record(raw, record_); !parsed) {
    ++counters_.records;
    ++counters_.malformed;
    return;
  }
  if (last_seq_ && record_.seq <= *last_seq_) return;  // seen before a restart
  ++counters_.records;
  const std::uint64_t expected = last_seq_ ? *last_seq_ + 1 : 0;
  (last_seq_ ? counters_.lost : counters_.lost_before_start) += record_.seq - expected;
  last_seq_ = record_.seq;

  LogLine line = record_.line();
  // A fragment goes on where the line before it ended: what it says may only make sense with that.
  if (record_.fragment && fragments_.size() < kMaxLine) {
    fragments_.append(record_.text.substr(0, kMaxLine));
    line.text = fragments_;
    feed(line);
    return;
  }
  Lines lines(record_.text);
  while (lines.next(line.text)) feed(line);
  fragments_.assign(line.text.substr(0, kMaxLine));
}

void KernelLog::line(const LogLine& line) {
  ++counters_.records;
  feed(line);
}

void KernelLog::feed(LogLine line) {
  line.number = ++lines_;
  line.from_before |= !caught_up_;
  if (line.voice == Voice::kForeign) {
    if (!options_.accept_user_records) {
      ++counters_.foreign;
      return;
    }
    line.voice = Voice::kKernel;
  }
  if (line.voice == Voice::kKernel && line.stamp) {
    if (skip_until_ && *line.stamp <= *skip_until_) return;
    skip_until_.reset();
    last_stamp_ = line.stamp;
  }
  assembler_.line(line);
}

void KernelLog::caught_up() {
  if (caught_up_) return;
  flush();
  caught_up_ = true;
}

void KernelLog::on_event(const Event& event) {
  const Occurrence occurrence = tally_.count(event, time_of(event.stamp), event.from_before);
  if (event.kind() == EventKind::kRatelimitSuppressed) {
    const EventKind kind = suppressed_kind(event.text("function"));
    const std::int64_t count = event.number("count").value_or(0);
    if (kind != EventKind::kNone && count > 0) {
      tally_.add_suppressed(kind, static_cast<std::uint64_t>(count));
    }
  }
  if (on_event_) on_event_(event, occurrence);
}

std::optional<Nanoseconds> KernelLog::time_of(
    std::optional<std::chrono::microseconds> stamp) const {
  if (!stamp) return std::nullopt;
  if (captured_) return *stamp;
  // The log's clock stops in suspend, as the monotonic one does.
  const Nanoseconds age = std::max(clock_.mono() - Nanoseconds(*stamp), Nanoseconds(0));
  return std::max(clock_.boot() - age, Nanoseconds(0));
}

}  // namespace jetmem::kernel_log
