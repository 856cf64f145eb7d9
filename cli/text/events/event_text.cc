// SPDX-License-Identifier: Apache-2.0
#include "cli/text/events/event_text.h"

#include <algorithm>

#include "base/text/text.h"
#include "cli/draw/since.h"
#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/decode/decode.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/event_fields.h"
#include "report/diagnosis/format.h"

namespace jetmem {
std::string seconds_text(std::chrono::microseconds stamp) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(stamp.count(), 0));
  const std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
}

std::string omitted_text(const kernel_log::TextLog::Counts& counts, std::string_view lost) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view noun, std::string_view why) {
    if (count == 0) return;
    text.append(text.empty() ? "" : "; ").append(counted(count, noun)).append(" ").append(why);
  };
  add(counts.foreign, "line", "written into the kernel log by processes, ignored");
  add(counts.lost, "record", lost);
  add(counts.cut, "line", "longer than 64 KiB, truncated");
  return text;
}

namespace {

std::string since_boot(Nanoseconds at) {
  return "[" + seconds_text(std::chrono::duration_cast<std::chrono::microseconds>(at)) + "]";
}

// Of the last of those that a record stands for.
std::optional<Nanoseconds> end_of(const EventRecord& record) {
  return record.wall ? record.last_wall() : record.last_at();
}

bool same(const EventRecord& a, const EventRecord& b) {
  return are_alike(a, b) && a.origin == b.origin && a.boot == b.boot &&
         a.wall.has_value() == b.wall.has_value();
}

// Messages that the kernel reports to have suppressed.
double suppressed_by(const EventRecord& record) {
  if (record.kind != kernel_log::info_of(kernel_log::EventKind::kRatelimitSuppressed).name)
    return 0;
  return diagnosis::EventFields(record).number("count").value_or(0);
}

// Alert changes and the daemon's own events are shown one by one.
bool folds(const EventRecord& record) {
  return record.what == EventWhat::kKernel || record.what == EventWhat::kGuess;
}

// "2026-11-20 02:11:47", followed by "~" if the clock was never synchronised; the time since boot
// if the date is unknown, "[12.345678]".
std::string event_time_text(const EventRecord& record) {
  if (record.wall) return local_time(*record.wall) + (record.wall_trusted ? "" : "~");
  return record.at ? since_boot(*record.at) : std::string();
}

std::string head_of(const EventRecord& record) {
  std::string out = event_time_text(record);
  if (!out.empty()) out += " ";
  switch (record.what) {
    case EventWhat::kKernel:
      out += record.kind;
      if (record.origin == "probe") out += " (caused by jetmem-probe)";
      break;
    case EventWhat::kAlert:
      out += "alert " + record.kind + ": " + record.subject;
      break;
    case EventWhat::kDaemon:
      out += "jetmemd: " + record.kind;
      break;
    case EventWhat::kMark:
      out += "mark";
      break;
    case EventWhat::kGuess:
      out += "guess";
      break;
  }
  return printable(out, 400) + "\n";
}

}  // namespace

void EventRecordList::add(const EventRecord& record) {
  const auto begin = record.wall ? record.wall : record.at;
  const double suppressed = suppressed_by(record);
  if (folds(record)) {
    for (auto it = rows_.rbegin(); it != rows_.rend(); ++it) {
      if (!same(it->first, record)) continue;
      // Without times only neighbours fold.
      if (!begin && !it->last && it == rows_.rbegin()) {
        ++it->count;
        it->suppressed += suppressed;
        return;
      }
      if (!begin || !it->last || *begin - *it->last > kMaxGap) break;
      it->count += record.count;
      it->suppressed += suppressed;
      it->last = std::max(*it->last, end_of(record).value_or(*begin));
      return;
    }
  }
  Row row;
  row.first = record;
  row.count = record.count;
  row.suppressed = suppressed;
  row.last = end_of(record);
  row.block = head_of(record);
  if (!record.summary.empty()) row.block += wrapped(printable(record.summary, 600), 4);
  if (record.what == EventWhat::kKernel && explained_.insert(record.kind).second &&
      record.kind != kernel_log::info_of(kernel_log::EventKind::kCustom).name) {
    const auto kind = kernel_log::kind_named(record.kind);
    const std::string_view meaning = kind ? kernel_log::info_of(*kind).meaning : "";
    if (!meaning.empty()) row.block += wrapped("(in general: " + std::string(meaning) + ")", 4);
  }
  rows_.push_back(std::move(row));
  // What nothing can be added to any more.
  while (rows_.size() > kMaxRows ||
         (rows_.size() > 1 && (!folds(rows_.front().first) || !begin || !rows_.front().last ||
                               *begin - *rows_.front().last > kMaxGap))) {
    print_first();
  }
}

void EventRecordList::print_first() {
  const Row& row = rows_.front();
  std::string text = row.block;
  if (row.count > 1) {
    const auto first = row.first.wall ? row.first.wall : row.first.at;
    const bool lasted = first && row.last && *row.last > *first;
    text += "    " + doctor::repeated(row.count, lasted ? to_seconds(*row.last - *first) : 0);
    if (lasted) {
      text += ", last ";
      text += row.first.wall ? local_time_short(*row.last, *first) : since_boot(*row.last);
    }
    if (row.suppressed > 0) text += ", " + doctor::count(row.suppressed) + " suppressed in all";
    text += "\n";
  }
  print_(text);
  rows_.pop_front();
}

void EventRecordList::finish() {
  while (!rows_.empty()) print_first();
}

}  // namespace jetmem
