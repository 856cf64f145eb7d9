// SPDX-License-Identifier: Apache-2.0
#include "cli/events/events_past.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/event_fields.h"

namespace jetmem {
namespace {

constexpr std::string_view kSuppressed = "ratelimit_suppressed";
constexpr std::size_t kPage = 500;
// Of a log's stamp against the recorder's: the clocks are read one after the other.
constexpr Nanoseconds kSlack = std::chrono::seconds(2);

template <class T>
bool has(const std::vector<T>& list, const T& item) {
  return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
}

// Whether a recorded event stands for this one of the log.
bool stands_for(const EventRecord& record, const EventRecord& of_log) {
  if (record.what != EventWhat::kKernel || record.kind != of_log.kind) return false;
  if (!record.at || !of_log.at) return record.summary == of_log.summary;
  if (record.subject != of_log.subject) return false;
  return *of_log.at >= *record.at - kSlack &&
         *of_log.at <= record.until.value_or(*record.at) + kSlack;
}

// What an event is, whichever way it came.
std::string identity(const EventRecord& event) {
  std::string out = std::to_string(event.boot) + '\n' +
                    std::to_string(static_cast<int>(event.what)) + '\n' + event.kind + '\n' +
                    event.subject + '\n';
  if (event.at) {
    out += std::to_string(event.at->count());
  } else if (event.wall) {
    out += 'w' + std::to_string(event.wall->count());
  } else {
    out += '#' + std::to_string(event.id);
  }
  // One alert fires for several series at a time. A kernel event's text may grow as it repeats.
  return event.what == EventWhat::kKernel ? out : out + '\n' + event.summary;
}

}  // namespace

bool is_of_kinds(const EventRecord& record, const std::vector<std::string>& kinds) {
  if (has(kinds, record.kind)) return true;
  if (record.kind != kSuppressed) return false;
  const kernel_log::EventKind kind =
      kernel_log::suppressed_kind(diagnosis::EventFields(record).text("function"));
  return kind != kernel_log::EventKind::kNone &&
         has(kinds, std::string(kernel_log::info_of(kind).name));
}

bool EventFilter::wants(const EventRecord& record) const {
  if (!has(what, record.what) || !is_of_kinds(record, kinds)) return false;
  if (record.wall && ((from && *record.wall < *from) || (to && *record.wall > *to))) return false;
  return true;
}

void sort_by_time(std::vector<EventRecord>& events) {
  struct Location {
    std::int64_t boot;
    Nanoseconds at;
    std::size_t index;
  };
  std::vector<Location> locations;
  std::map<std::int64_t, Nanoseconds> last;  // of each boot
  for (std::size_t i = 0; i < events.size(); ++i) {
    Nanoseconds& at = last.try_emplace(events[i].boot, Nanoseconds::min()).first->second;
    if (events[i].at) at = *events[i].at;
    locations.push_back({events[i].boot, at, i});
  }
  std::sort(locations.begin(), locations.end(), [](const Location& a, const Location& b) {
    return std::tie(a.boot, a.at, a.index) < std::tie(b.boot, b.at, b.index);
  });
  std::vector<EventRecord> sorted;
  sorted.reserve(events.size());
  for (const Location& location : locations) sorted.push_back(std::move(events[location.index]));
  events = std::move(sorted);
}

std::vector<EventRecord> EventsSeen::fresh(const std::vector<EventRecord>& events) {
  std::vector<EventRecord> out;
  for (const EventRecord& event : events) {
    std::string name = identity(event);
    const bool known = before_.count(name) > 0;
    if (now_.insert(std::move(name)).second && !known) out.push_back(event);
  }
  if (now_.size() > kMost) {
    before_ = std::move(now_);
    now_.clear();
  }
  return out;
}

void keep_newest(EventsFound& found, std::size_t limit) {
  if (found.events.size() <= limit) return;
  found.more = true;
  found.events.erase(found.events.begin(), found.events.end() - static_cast<std::ptrdiff_t>(limit));
}

// Of a list that has the newest first.
static void order(EventsFound& found, std::size_t limit) {
  std::reverse(found.events.begin(), found.events.end());
  sort_by_time(found.events);
  keep_newest(found, limit);
}

Result<EventsFound> past_events(History& history, const EventFilter& needed) {
  EventsFound out;
  EventsQuery requested;
  requested.from = needed.from;
  requested.to = needed.to;
  requested.kinds = needed.kinds;
  if (!requested.kinds.empty()) requested.kinds.emplace_back(kSuppressed);
  if (needed.what.size() == 1) requested.what = needed.what.front();
  // The history's order is that of recording: what is the newest by the clock may have been
  // recorded a little before others.
  const std::size_t most = needed.limit + kPage;
  for (;;) {
    requested.most = std::clamp<std::size_t>(most - out.events.size(), 1, kPage);
    auto page = history.events(requested);
    if (!page) return tl::unexpected(std::move(page.error()));
    out.more = page->more;
    if (page->events.empty()) break;
    const std::int64_t last = page->events.back().id;
    for (EventRecord& event : page->events) {
      if (!needed.wants(event)) continue;
      if (out.events.size() == most) {
        out.more = true;
        break;
      }
      out.events.push_back(std::move(event));
    }
    // A page that makes no progress would be requested forever.
    const bool stuck = requested.before && last >= *requested.before;
    if (!page->more || stuck || out.events.size() >= most) break;
    requested.before = last;
  }
  order(out, needed.limit);
  return out;
}

EventsFound wanted_events(std::vector<EventRecord> events, const EventFilter& needed) {
  EventsFound out{std::move(events)};
  std::erase_if(out.events, [&](const EventRecord& event) { return !needed.wants(event); });
  order(out, needed.limit);
  return out;
}

void merge_log(EventsFound& found, const std::vector<EventRecord>& log,
               std::optional<std::int64_t> boot, const EventFilter& needed) {
  std::vector<EventRecord> fresh;
  for (const EventRecord& of_log : log) {
    if (!needed.wants(of_log)) continue;
    const bool known =
        boot && std::any_of(found.events.begin(), found.events.end(), [&](const EventRecord& each) {
          return each.boot == *boot && stands_for(each, of_log);
        });
    // Events before the oldest one are on a page that was not requested.
    const bool before = found.more && !found.events.empty() && of_log.wall &&
                        found.events.front().wall && *of_log.wall < *found.events.front().wall;
    if (known || before) continue;
    fresh.push_back(of_log);
    fresh.back().boot = boot.value_or(0);
  }
  std::stable_sort(fresh.begin(), fresh.end(), [](const EventRecord& a, const EventRecord& b) {
    return a.at.value_or(Nanoseconds(0)) < b.at.value_or(Nanoseconds(0));
  });
  // In between by the boot clock in its boot, else by time where both have one.
  const auto is_later = [](const EventRecord& of_past, const EventRecord& of_log) {
    if (of_past.boot == of_log.boot && of_past.at && of_log.at) return *of_past.at > *of_log.at;
    return of_log.wall && of_past.wall && *of_past.wall > *of_log.wall;
  };
  for (EventRecord& each : fresh) {
    auto at = found.events.end();
    while (at != found.events.begin() && is_later(*std::prev(at), each)) --at;
    found.events.insert(at, std::move(each));
  }
  keep_newest(found, needed.limit);
}

std::vector<std::string> fault_kinds() {
  std::vector<std::string> out;
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    if (info.group == kernel_log::Group::kDma || info.kind == kernel_log::EventKind::kGpuMmuFault) {
      out.emplace_back(info.name);
    }
  }
  return out;
}

}  // namespace jetmem
