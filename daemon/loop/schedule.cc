// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/schedule.h"

#include <algorithm>

namespace jetmem {
namespace {

Nanoseconds next_multiple(Nanoseconds interval, Nanoseconds now) {
  return (now / interval + 1) * interval;
}

}  // namespace

std::size_t Schedule::add(Nanoseconds interval) {
  entries_.push_back({interval, Nanoseconds(0)});
  return entries_.size() - 1;
}

void Schedule::set_interval(std::size_t entry, Nanoseconds interval, Nanoseconds now) {
  if (entries_[entry].interval == interval) return;
  entries_[entry].interval = interval;
  if (entries_[entry].due > Nanoseconds(0)) entries_[entry].due = next_multiple(interval, now);
}

Nanoseconds Schedule::next() const {
  Nanoseconds next = kNever;
  for (const Entry& entry : entries_) next = std::min(next, entry.due);
  return next;
}

Nanoseconds Schedule::shortest_interval() const {
  Nanoseconds shortest = kNever;
  for (const Entry& entry : entries_) shortest = std::min(shortest, entry.interval);
  return shortest;
}

void Schedule::take_due(Nanoseconds now, std::vector<std::size_t>& due) {
  due.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.due > now) continue;
    due.push_back(i);
    if (entry.due > Nanoseconds(0)) {
      missed_ += static_cast<std::uint64_t>((now - entry.due) / entry.interval);
    }
    entry.due = next_multiple(entry.interval, now);
  }
}

}  // namespace jetmem
