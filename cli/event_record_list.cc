#include "cli/event_record_list.h"

#include "base/text.h"
#include "cli/event_text.h"
#include "cli/since.h"
#include "collectors/kernel_log/kinds.h"

namespace jetmem {
namespace {

std::string since_boot(Nanoseconds at) {
  return "[" + seconds_text(std::chrono::duration_cast<std::chrono::microseconds>(at)) + "]";
}

// Of the last of those that a record stands for.
std::optional<Nanoseconds> end_of(const EventRecord& record) {
  if (!record.wall) return record.until ? record.until : record.at;
  if (record.until && record.at) return *record.wall + (*record.until - *record.at);
  return record.wall;
}

bool same(const EventRecord& a, const EventRecord& b) {
  return a.what == b.what && a.kind == b.kind && a.subject == b.subject && a.origin == b.origin &&
         a.boot == b.boot && a.wall.has_value() == b.wall.has_value();
}

// Changes of an alert and the daemon's own are each told.
bool folds(const EventRecord& record) { return record.what == EventWhat::kKernel; }

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
  }
  return printable(out, 400) + "\n";
}

}  // namespace

std::string event_time_text(const EventRecord& record) {
  if (record.wall) return local_time(*record.wall) + (record.wall_trusted ? "" : "~");
  return record.at ? since_boot(*record.at) : std::string();
}

void EventRecordList::add(const EventRecord& record) {
  const auto begin = record.wall ? record.wall : record.at;
  if (folds(record)) {
    for (auto it = rows_.rbegin(); it != rows_.rend(); ++it) {
      if (!same(it->first, record)) continue;
      if (!begin || !it->last || *begin - *it->last > kMaxGap) break;
      it->count += record.count;
      it->last = std::max(*it->last, end_of(record).value_or(*begin));
      return;
    }
  }
  Row row;
  row.first = record;
  row.count = record.count;
  row.last = end_of(record);
  row.block = head_of(record);
  if (!record.summary.empty()) row.block += wrapped(printable(record.summary, 600), 4);
  if (record.what == EventWhat::kKernel && explained_.insert(record.kind).second) {
    const auto kind = kernel_log::kind_named(record.kind);
    const std::string_view meaning = kind ? kernel_log::info_of(*kind).meaning : "";
    if (!meaning.empty()) row.block += wrapped("(" + std::string(meaning) + ")", 4);
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
    text += "    repeated " + counted(row.count - 1, "time");
    const auto first = row.first.wall ? row.first.wall : row.first.at;
    if (first && row.last && *row.last > *first) {
      text += " until ";
      text += row.first.wall ? local_time_short(*row.last, *first) : since_boot(*row.last);
    }
    text += "\n";
  }
  print_(text);
  rows_.pop_front();
}

void EventRecordList::finish() {
  while (!rows_.empty()) print_first();
}

}  // namespace jetmem
