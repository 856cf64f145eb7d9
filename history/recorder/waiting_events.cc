// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/waiting_events.h"

#include <algorithm>
#include <utility>

namespace jetmem {

bool WaitingEvents::has_room(Nanoseconds now) {
  tokens_ = std::min(kBurst, tokens_ + to_seconds(now - refilled_) / to_seconds(kPause));
  refilled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void WaitingEvents::count(Each& each, std::uint64_t more, Nanoseconds at) {
  if (!each.may_be_recorded) return;
  auto& all = each.stretches;
  if (all.empty()) all.reserve(4);
  if (!all.empty() && (all.back().last == at || all.size() == kMaxStretches)) {
    all.back().last = std::max(all.back().last, at);
    all.back().count += more;
    return;
  }
  all.push_back({at, at, more});
}

WaitingEvents::Added WaitingEvents::add(EventRecord record, bool may_be_recorded, Nanoseconds now) {
  Added added;
  const bool is_of_log = record.what == EventWhat::kKernel || record.what == EventWhat::kGuess;
  if (is_of_log) {
    const std::lock_guard lock(mutex_);
    for (auto each = events_.rbegin(); each != events_.rend(); ++each) {
      const EventRecord& other = *each->record;
      if (each->number <= taken_) break;
      if (each->may_be_recorded != may_be_recorded || !are_alike(other, record) ||
          other.origin != record.origin) {
        continue;
      }
      if (!record.at || !other.at || *record.at - *other.at > kAlike || *record.at < *other.at) {
        break;
      }
      if (adds_up(other)) {
        EventRecord sum = other;
        (void)add_amounts(sum, record);
        each->record = std::make_shared<const EventRecord>(std::move(sum));
      }
      each->count += record.count;
      each->until = record.until ? record.until : record.at;
      count(*each, record.count, *record.at);
      added.number = each->number;
      return added;
    }
  }
  if (is_of_log && !has_room(now)) {
    added.refused = true;
    return added;
  }
  Each each;
  each.count = record.count;
  each.until = record.until;
  each.may_be_recorded = may_be_recorded;
  if (record.at) count(each, record.count, *record.at);
  each.record = std::make_shared<const EventRecord>(std::move(record));
  std::shared_ptr<const EventRecord> gone;
  const std::lock_guard lock(mutex_);
  if (events_.size() >= most_) {
    gone = std::move(events_.front().record);
    events_.pop_front();
    added.pushed_out = 1;
  }
  each.number = next_++;
  added.number = each.number;
  events_.push_back(std::move(each));
  return added;
}

bool WaitingEvents::again(std::uint64_t number, std::optional<Nanoseconds> at,
                          bool may_be_recorded) {
  const std::lock_guard lock(mutex_);
  if (number <= taken_ || events_.empty() || number < events_.front().number) return false;
  Each& each = events_[number - events_.front().number];
  if (each.may_be_recorded != may_be_recorded) return false;
  if (!at || !each.record->at || *at < *each.record->at || *at - *each.record->at > kAlike) {
    return false;
  }
  ++each.count;
  each.until = at;
  count(each, 1, *at);
  return true;
}

std::size_t WaitingEvents::size() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

std::vector<WaitingEvents::Each> WaitingEvents::take_all() {
  std::vector<Each> out;
  out.reserve(most_);
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), events_.begin(), events_.end());
  if (!out.empty()) taken_ = out.back().number;
  return out;
}

void WaitingEvents::written(std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  while (!events_.empty() && events_.front().number <= last) events_.pop_front();
}

std::vector<WaitingEvents::Each> WaitingEvents::snapshot() const {
  std::vector<Each> out;
  out.reserve(most_);
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), events_.begin(), events_.end());
  return out;
}

EventRecord WaitingEvents::record_of(const Each& each) {
  EventRecord record = *each.record;
  record.count = each.count;
  record.until = each.until;
  return record;
}

std::optional<EventRecord> WaitingEvents::unknown_of(const Each& each,
                                                     std::optional<Nanoseconds> known) {
  EventRecord record = record_of(each);
  if (!each.may_be_recorded || !known || !record.at || *record.at > *known) return record;
  record.count = 0;
  for (const Each::Stretch& stretch : each.stretches) {
    if (stretch.last <= *known) continue;
    if (record.count == 0) record.at = std::max(stretch.first, *known);
    record.count += stretch.count;
  }
  if (record.count == 0) return std::nullopt;
  if (record.count == 1) record.until.reset();
  return record;
}

}  // namespace jetmem
