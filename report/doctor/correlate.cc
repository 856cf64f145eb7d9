// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/correlate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "metrics/series_key.h"
#include "report/answers/cma_answer.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/event_fields.h"
#include "report/diagnosis/format.h"
#include "report/doctor/top_growth.h"
#include "report/events/event_json.h"
#include "report/events/kernel_event_record.h"

namespace jetmem::doctor {
namespace {

constexpr double kWindow = 6 * 3600;
// A fall that had begun already, or that memory is still low of, is looked for in longer ones.
constexpr std::array kMemoryWindows{kWindow, 2 * kWindow, 4 * kWindow, 12 * kWindow};
// The share of available memory that is little.
constexpr double kLittleMemory = 0.1;
// An alert may have fired for long.
constexpr double kAlertsWindow = 60 * 86400;
// Faults that came less long ago still come.
constexpr double kStillComing = 120;
constexpr std::size_t kMostEvents = 500;
// A capture takes a minute at most.
constexpr double kOtherDay = 600;
// Between two steps of the recorder.
constexpr double kStep = 10;

// All kinds but those that only accompany others.
std::vector<std::string> kinds_of_interest() {
  std::vector<std::string> out;
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    if (info.level != LogLevel::kInfo) out.emplace_back(info.name);
  }
  return out;
}

bool is_kind(const EventRecord& event, std::initializer_list<std::string_view> kinds) {
  return event.what == EventWhat::kKernel &&
         std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end();
}

bool is_fault(const EventRecord& event) {
  return is_kind(event, {"smmu_context_fault", "smmu_global_fault", "smmu_v3_event", "smmu_error"});
}

// The number of this boot in the history; 0: unknown.
std::int64_t number_of_boot(const DeviceNow& now, Past& past) {
  const HistoryFacts* const facts = past.facts();
  if (facts == nullptr || now.boot_id.empty()) return 0;
  for (const BootKnown& boot : facts->boots) {
    if (boot.boot_id == now.boot_id) return boot.number;
  }
  return 0;
}

void gather_events(const DeviceNow& now, Past& past, Findings& out) {
  const auto add = [&](const EventRecord& event) {
    if (event.what == EventWhat::kGuess) return;
    const double time = to_seconds(*event.wall);
    if (out.now > 0 && (time < out.now - 2 * kRecent || time > out.now + kRecent)) return;
    out.longer.push_back({time, &event});
  };
  if (past.known() && out.now > 0) {
    out.recorded =
        past.events(out.now - 2 * kRecent, out.now + 60, kinds_of_interest(), kMostEvents);
  }
  for (const EventRecord& event : out.recorded) {
    if (event.wall) add(event);
  }
  const std::int64_t boot = out.recorded.empty() ? 0 : number_of_boot(now, past);
  for (const EventRecord& event : now.events) {
    if (!event.wall) continue;
    EventRecord of_boot = event;
    if (of_boot.boot == 0) of_boot.boot = boot;
    const bool known =
        std::any_of(out.recorded.begin(), out.recorded.end(),
                    [&](const EventRecord& each) { return is_same_event(each, of_boot); });
    if (!known) add(event);
  }
  std::stable_sort(out.longer.begin(), out.longer.end(),
                   [](const Seen& a, const Seen& b) { return a.time < b.time; });
  // During a long capture the log is newer than its start.
  if (out.now > 0 && !out.longer.empty()) out.now = std::max(out.now, out.longer.back().time);
  std::copy_if(out.longer.begin(), out.longer.end(), std::back_inserter(out.events),
               [&](const Seen& each) { return out.now <= 0 || each.time >= out.now - kRecent; });
}

// When the last of those that were kept as one happened.
double end_of(const Seen& seen) { return seen.time + to_seconds(seen.event->lasted()); }

// The last series of matching events, each less than kApart after the previous one. Empty where it
// ended more than a day ago.
template <class Matches>
std::vector<Seen> last_run(const std::vector<Seen>& events, double now, Matches matches) {
  std::vector<Seen> out;
  for (const Seen& each : events) {
    if (!matches(*each.event)) continue;
    if (!out.empty() && each.time - out.back().time > kApart) out.clear();
    out.push_back(each);
  }
  if (!out.empty() && now > 0 && end_of(out.back()) < now - kRecent) out.clear();
  return out;
}

// When the boot of `time` began, as far as known: nothing before it counts.
double boot_began(const DeviceNow& now, const Findings& found, double time) {
  if (now.since_boot <= 0 || found.now <= 0) return 0;
  const double began = found.now - now.since_boot;
  return time >= began ? began : 0;
}

// The fall that ended at `until`, from `after` on.
std::optional<MemoryFall> memory_fall(const DeviceNow& now, Past& past, const Findings& found,
                                      double until, double after) {
  MemoryFall out;
  out.until = until;
  if (out.until <= 0) return std::nullopt;
  const double total = now.samples.meminfo("MemTotal").value_or(0);
  const double least = std::max(total * 0.04, 32.0 * (1 << 20));
  double earliest = std::max(after, boot_began(now, found, out.until));
  // Of an earlier boot, its own beginning.
  if (const HistoryFacts* facts = past.facts()) {
    for (const BootKnown& boot : facts->boots) {
      const double began = boot.first_wall ? to_seconds(*boot.first_wall) : 0;
      if (began <= out.until) earliest = std::max(earliest, began);
    }
  }
  const bool is_little = until < found.now || now.samples.meminfo("MemAvailable").value_or(total) <
                                                  kLittleMemory * total;
  std::optional<Move> fall;
  for (const double window : kMemoryWindows) {
    const double from = out.until - window;
    const auto seen = find_move(
        past, {"jetmem_meminfo_MemAvailable_bytes", from, out.until, earliest, false, least});
    if (seen && (!fall || seen->change() < fall->change())) fall = seen;
    const bool had_begun = seen && seen->from - from < 0.03 * window;
    if (from <= earliest || (seen && !had_begun) || (!fall && !is_little)) break;
  }
  if (!fall) return std::nullopt;
  out.available = *fall;
  // A little before it began, and after it ended: processes are read once a minute.
  const double from = std::max(fall->from - 60, earliest);
  // What a kill gave back is no part of it.
  const double to = std::min(fall->to + 60, out.until - 1);
  out.top_growth = top_growth(past, GrowthKind::kMemory, from, to, -fall->change() * 0.05, 3);
  for (GrowthEntry& each : out.top_growth) {
    // Processes are read once a minute.
    if (each.move) each.move->is_ongoing = fall->is_ongoing && each.move->to >= fall->to - 150;
  }
  return out;
}

// The fall that ended with a kill or a restart, and the current one: each has its own culprit.
void memory_falls(const DeviceNow& now, Past& past, Findings& found) {
  double after = 0;
  if (found.first_kill_time) {
    found.memory_then = memory_fall(now, past, found, *found.first_kill_time, 0);
    after = *found.kill_time;
  } else if (found.restart && !found.restart->last_events.empty()) {
    found.memory_then = memory_fall(now, past, found, found.restart->died, 0);
    after = found.restart->died;
  }
  // It ended with that, whatever came next.
  if (found.memory_then) {
    found.memory_then->available.is_ongoing = false;
    for (GrowthEntry& each : found.memory_then->top_growth) {
      if (each.move) each.move->is_ongoing = false;
    }
  }
  found.memory = memory_fall(now, past, found, found.now, after);
}

// When a value last began to be below `least` before `end`, looked at closely around `about`.
double last_crossing(Past& past, const std::string& key, double about, double step, double least,
                     double end) {
  double out = about;
  bool is_below = false;
  for (const Value& each :
       past.series(key, about - step - 60, std::min(about + step + 60, end), 1000)) {
    if (each.time > end) break;
    const bool below = each.min < least;
    if (below && !is_below) out = each.time;
    is_below = below;
  }
  return out;
}

// Who requested the buffer of nvmap for which the kernel killed.
std::string nvmap_requester(const Findings& found, const Seen& kill) {
  std::string out;
  for (const Seen& each : found.longer) {
    if (each.time > kill.time) break;
    if (each.event->kind != "oom_invoked") continue;
    const diagnosis::EventFields fields(*each.event);
    const bool is_it = kill.time - each.time <= to_seconds(diagnosis::kOneOomCall) &&
                       fields.is("allocator", "nvmap");
    out = is_it ? printable(fields.text("comm"), 64) : "";
  }
  return out;
}

// Who allocated most of the blocks that are left of a move.
void find_taker(const DeviceNow& now, const Move& used, CmaFall& out) {
  const CmaAnswer answer = cma_answer(now);
  const auto area = std::find_if(answer.areas.begin(), answer.areas.end(),
                                 [&](const auto& each) { return each.name == out.area; });
  if (area == answer.areas.end() || !now.wall) return;
  const double slack = std::max(kStep, used.step);
  std::map<std::uint64_t, double> taken;
  for (const CmaOwnership::Block& block : area->blocks) {
    if (block.state != CmaOwnership::BlockState::kTaken || !block.age_seconds) continue;
    const double time = *now.wall - *block.age_seconds;
    const bool is_of_it = time >= used.from - slack && (used.is_ongoing || time <= used.to + slack);
    if (is_of_it) taken[block.owner] += block.bytes;
  }
  for (const auto& [owner, bytes] : taken) {
    const CmaOwnership::Owner& its = area->owners[owner];
    // The last one may stand for many.
    if (bytes <= out.taken || its.has_ended || its.pid + its.thread == 0) continue;
    out.taken = bytes;
    out.taker = owner_name(its);
  }
}

std::optional<CmaFall> cma_fall(const DeviceNow& now, Past& past, const Findings& found) {
  const auto failures = last_run(found.longer, found.now, [](const EventRecord& event) {
    return event.origin != "probe" && is_kind(event, {"cma_alloc_failure", "dma_alloc_failure"});
  });
  CmaFall out;
  double until = found.now;
  std::vector<const EventRecord*> refused;
  std::uint64_t of_devices = 0;
  for (const Seen& each : failures) {
    refused.push_back(each.event);
    if (each.event->kind != "dma_alloc_failure") continue;
    const std::string device = printable(each.event->subject, 64);
    of_devices += each.event->count;
    // Both log the same refusal within a second; a later one is another's.
    if (out.device.empty() && each.time - failures.front().time <= 1) out.device = device;
    out.is_only_device = out.is_only_device && device == out.device;
  }
  out.failures = refusals(refused);
  out.is_only_device = out.is_only_device && of_devices == out.failures;
  if (!failures.empty()) {
    out.first_failure = failures.front().time;
    until = failures.back().time;
  }
  double worst = INFINITY;
  for (const Sample& sample : now.samples.family("jetmem_cma_frame_fit_ratio")) {
    if (sample.value < worst) {
      worst = sample.value;
      out.area = printable(sample.label("area"), 64);
    }
  }
  if (failures.empty() && worst >= 1) return std::nullopt;
  const double fit_now = worst;
  if (until <= 0) return std::nullopt;
  // The step caused by the failure itself counts, too.
  const double end = out.first_failure ? *out.first_failure + kStep : until;
  worst = INFINITY;
  std::size_t tried = 0;
  for (const std::string& key : past.keys("jetmem_cma_frame_fit_ratio")) {
    if (++tried > 4) break;
    const auto name = parse_series_key(key);
    if (!name) continue;
    const std::string area(name->label("area"));
    // The largest request may be known only since it failed: the past is measured
    // against the value of now.
    const SeriesName run{"jetmem_cma_largest_free_run_bytes", {{"area", area}}};
    const auto run_now = now.samples.value(run.family, {{"area", area}});
    const auto fits = now.samples.value("jetmem_cma_frame_fit_ratio", {{"area", area}});
    const double needed = run_now && fits && *fits > 0 ? *run_now / *fits : 0;
    Values values;
    if (needed > 0) values = past.series(run.key(), until - kRecent, std::max(until, end), 1500);
    const bool is_run = !values.empty();
    if (!is_run) values = past.series(key, until - kRecent, std::max(until, end), 1500);
    const double least = is_run ? needed : 1;
    // The start of the last period below it that began before the failure.
    std::optional<double> fell;
    bool is_below = false;
    double last = INFINITY;
    for (const Value& each : values) {
      if (each.time > end) break;
      last = each.min / least;
      if (out.first_failure && each.time > *out.first_failure) continue;
      const bool below = each.min < least;
      if (below && !is_below)
        fell = &each == values.data() ? std::nullopt : std::optional(each.time);
      is_below = below;
    }
    if (last >= worst || (!is_below && failures.empty())) continue;
    worst = last;
    out.fell = is_below ? fell : std::nullopt;
    if (out.fell) {
      out.fell = last_crossing(past, is_run ? run.key() : key, *out.fell, values.front().step,
                               least, out.first_failure.value_or(end));
    }
    out.fit = last;
    out.area = printable(area, 64);
    out.run.reset();
    if (is_run) out.run = find_move(past, {run.key(), until - kRecent, end, 0, false, needed});
  }
  if (std::isfinite(worst)) {
    const double window = out.fell ? std::max(600.0, 2 * (end - *out.fell)) : kWindow;
    SeriesName used{"jetmem_cma_used_bytes", {{"area", out.area}}};
    out.used = find_move(past, {used.key(), end - window, end, 0, true, 4.0 * (1 << 20)});
    if (out.used) {
      find_taker(now, *out.used, out);
      const double to = std::min(out.used->to + 60, end);
      out.top_growth =
          top_growth(past, GrowthKind::kBuffers, out.used->from, to, 4.0 * (1 << 20), 2);
    }
    for (auto* each : {&out.used, &out.run}) {
      if (*each && out.first_failure) (*each)->is_ongoing = false;
    }
    for (GrowthEntry& each : out.top_growth) {
      if (each.move) each.move->is_ongoing = each.move->is_ongoing && out.used->is_ongoing;
    }
  } else if (fit_now < 1) {
    out.fit = fit_now;
  }
  return out;
}

// Process groups that ended in between. They are read once a minute.
std::string ended_between(Past& past, double from, double to) {
  constexpr std::string_view kFamily = "jetmem_process_group_resident_bytes{";
  const auto before = past.at(from, 120);
  const auto after = past.at(to, 60);
  // Not read in between: unknown.
  const auto is_group = [&](const auto& each) { return each.first.rfind(kFamily, 0) == 0; };
  if (std::none_of(after.begin(), after.end(), is_group)) return {};
  std::string out;
  std::size_t count = 0;
  for (const auto& [key, value] : before) {
    if (key.rfind(kFamily, 0) != 0 || after.count(key) != 0) continue;
    // The smallest groups move in and out of "other".
    if (value < 32.0 * (1 << 20)) continue;
    const auto name = parse_series_key(key);
    if (!name || ++count > 2) continue;
    out += (out.empty() ? "" : " and ") + printable(name->label("command"), 64);
  }
  return out.empty() ? out : out + " ended";
}

std::optional<Faults> smmu_faults(const DeviceNow& now, Past& past, const Findings& found) {
  const auto run = last_run(found.longer, found.now, is_fault);
  if (run.empty()) return std::nullopt;
  Faults out;
  out.first = run.front().time;
  out.last = end_of(run.back());
  out.is_ongoing = found.now - out.last <= kStillComing;
  std::map<std::string, std::uint64_t> clients;
  for (const Seen& each : run) {
    out.count += each.event->count;
    if (each.event->origin == "probe") out.from_probe += each.event->count;
    clients[each.event->subject] += each.event->count;
  }
  const auto most =
      std::max_element(clients.begin(), clients.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  out.client = printable(most->first, 64);
  // Of this boot only.
  if (out.last >= boot_began(now, found, found.now)) {
    for (const Sample& each : now.samples.family("jetmem_kernel_events_suppressed_total")) {
      if (each.label("kind").rfind("smmu_", 0) == 0) out.suppressed_count += each.value;
    }
  }
  for (const Seen& each : found.longer) {
    if (each.time > out.first || each.time < out.first - 30) continue;
    if (is_kind(*each.event, {"oom_kill", "oom_kill_memcg"})) {
      out.before = "the kernel killed " + printable(each.event->subject, 64) + " (out of memory)";
    }
  }
  if (out.before.empty() && past.known()) {
    out.before = ended_between(past, out.first - 70, out.first + 130);
  }
  return out;
}

std::optional<Restart> restart_of(const DeviceNow& now, Past& past, const Findings& found) {
  if (now.samples.value("jetmem_boot_last_shutdown", {{"clean", "no"}}).value_or(0) != 1) {
    return std::nullopt;
  }
  const HistoryFacts* const facts = past.facts();
  if (facts == nullptr || facts->boots.size() < 2) return std::nullopt;
  // The last boot in the history is this one only if it is recorded already.
  auto it = facts->boots.rbegin();
  if (it->boot_id != now.boot_id) return std::nullopt;
  ++it;
  if (!it->last_wall) return std::nullopt;
  const std::int64_t boot = it->number;
  Restart out;
  out.died = to_seconds(*it->last_wall);
  out.booted = found.now > 0 && now.since_boot > 0 ? found.now - now.since_boot : 0;
  // The recorder writes in long steps: jetmemd's note that it runs, and events, which are written
  // at once, may be later.
  const auto is_later = [&](double time) {
    return time > out.died && out.booted > 0 && time <= out.booted;
  };
  const auto down = now.samples.value("jetmem_boot_downtime_seconds");
  if (down && is_later(out.booted - *down)) out.died = out.booted - *down;
  if (out.booted > out.died) {
    for (const EventRecord& each : past.events(out.died, out.booted, {}, 200)) {
      if (each.boot != boot || !each.wall) continue;
      const double time = to_seconds(*each.last_wall());
      if (is_later(time)) out.died = time;
    }
  }
  if (out.booted <= out.died) out.booted = 0;
  // However long ago that was; newest first.
  for (const EventRecord& each :
       past.events(out.died - 600, out.died + 60, kinds_of_interest(), 50)) {
    if (each.what != EventWhat::kKernel || !each.wall) continue;
    if (out.booted > 0 && to_seconds(*each.wall) > out.booted) continue;
    out.last_events = printable(each.summary, 200);
    break;
  }
  return out;
}

}  // namespace

bool fires(const DeviceNow& now, std::string_view alert) {
  if (!now.alerts) return false;
  const auto& rules = now.alerts->rules;
  return std::any_of(rules.begin(), rules.end(), [&](const AlertsAnswer::Rule& rule) {
    return rule.name == alert && rule.state == "firing";
  });
}

std::uint64_t refusals(const std::vector<const EventRecord*>& events) {
  constexpr Nanoseconds kOneRequest = std::chrono::seconds(1);
  const auto is_near = [&](const EventRecord& a, const EventRecord& b) {
    if (a.at && b.at && a.boot == b.boot) return std::chrono::abs(*a.at - *b.at) <= kOneRequest;
    return a.wall && b.wall && std::chrono::abs(*a.wall - *b.wall) <= kOneRequest;
  };
  std::uint64_t count = 0;
  std::vector<std::pair<const EventRecord*, std::uint64_t>> devices;
  for (const EventRecord* each : events) {
    if (!is_kind(*each, {"dma_alloc_failure"})) continue;
    count += each->count;
    devices.emplace_back(each, each->count);
  }
  for (const EventRecord* each : events) {
    if (!is_kind(*each, {"cma_alloc_failure"})) continue;
    std::uint64_t left = each->count;
    for (auto& [device, free] : devices) {
      if (left == 0) break;
      if (!is_near(*each, *device)) continue;
      const std::uint64_t reported = std::min(left, free);
      left -= reported;
      free -= reported;
    }
    count += left;
  }
  return count;
}

namespace {

// The log may be a moment older than the first value that it explains.
void find_alarm(const std::vector<Seen>& events, Heat& heat) {
  const double around = std::max(heat.step, 60.0);
  for (const Seen& each : events) {
    if (each.event->kind != "thermal" || each.time < heat.began - around ||
        each.time > heat.ended + around) {
      continue;
    }
    const diagnosis::EventFields fields(*each.event);
    const std::string_view trip = fields.text("trip");
    if (trip != "critical" && !trip.ends_with("-alert")) continue;
    heat.alarm = printable(trip, 64);
    heat.alarm_time = each.time;
    return;
  }
}

// Of the trips at which a chip is slowed down or worse. One to which nothing is bound slows nothing.
void find_limit(const DeviceNow& now, Heat& heat) {
  for (const Sample& each : now.samples.family("jetmem_thermal_trip_celsius")) {
    const std::string_view kind = each.label("kind");
    if (each.label("zone") != heat.zone || each.value > heat.rise.after) continue;
    if (kind != "passive" && kind != "critical") continue;
    const Sample* const bound = now.samples.find("jetmem_thermal_trip_bound",
                                                 {{"zone", each.label("zone")},
                                                  {"index", each.label("index")},
                                                  {"trip", each.label("trip")}});
    if (kind == "passive" && bound != nullptr && bound->value == 0) continue;
    heat.limit = std::max(heat.limit, each.value);
  }
}

}  // namespace

Findings correlate(const DeviceNow& now, Past& past) {
  Findings out;
  if (now.wall) out.now = *now.wall;
  if (past.known()) {
    if (const HistoryFacts* facts = past.facts(); facts != nullptr) {
      // Of a tree that is played or was put together, the history may be of another day than its
      // manifest: the last recorded moment counts as now.
      const bool is_other_day = now.by == SnapshotOrigin::kCapture && out.now > 0 &&
                                facts->newest && to_seconds(*facts->newest) > out.now + kOtherDay;
      if (facts->newest && (out.now <= 0 || is_other_day)) {
        out.now = to_seconds(*facts->newest);
        out.of_other_day = is_other_day;
      }
      // Alerts that were firing at the last record.
      if (now.by != SnapshotOrigin::kDaemon && facts->newest &&
          out.now - to_seconds(*facts->newest) <= kOtherDay) {
        // The last record is of this boot, or no alert of it is recorded.
        const bool is_other_boot = !out.of_other_day && !now.boot_id.empty() &&
                                   number_of_boot(now, past) == 0 && !facts->boots.empty();
        const std::int64_t boot = out.of_other_day && !facts->boots.empty()
                                      ? facts->boots.back().number
                                      : number_of_boot(now, past);
        if (!is_other_boot) {
          out.alerts = last_changes(
              past.events(out.now - kAlertsWindow, out.now + 60,
                          {"firing", "resolved", "unknown", "inhibited", "withdrawn"}, 500),
              boot);
          // Those that have not ended since. Each boot begins without any.
          std::erase_if(out.alerts, [](const EventRecord& each) { return each.kind != "firing"; });
        }
        out.alerts_recorded = past.problem().empty();
      }
      out.clock_doubt = !facts->boots.empty() && !facts->boots.back().wall_trusted;
    }
  }
  gather_events(now, past, out);
  const auto kills = last_run(out.longer, out.now, [](const EventRecord& event) {
    return event.origin != "probe" && is_kind(event, {"oom_kill", "oom_no_victim"});
  });
  if (!kills.empty()) {
    out.kill = kills.front().event;
    out.first_kill_time = kills.front().time;
    out.kill_time = kills.back().time;
    out.kill_requester = nvmap_requester(out, kills.front());
  }
  if (past.known()) {
    out.restart = restart_of(now, past, out);
    memory_falls(now, past, out);
  }
  out.cma = cma_fall(now, past, out);
  out.smmu = smmu_faults(now, past, out);
  out.heat = heat_of(past, out.now);
  if (out.heat) {
    find_alarm(out.events, *out.heat);
    find_limit(now, *out.heat);
  }
  return out;
}

}  // namespace jetmem::doctor
