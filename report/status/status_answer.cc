// SPDX-License-Identifier: Apache-2.0
#include "report/status/status_answer.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/text/text.h"
#include "report/alerts/alert_order.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

using Answer = StatusAnswer;

constexpr double kDay = 86'400;

void add_device(Answer& answer, const DeviceNow& now) {
  answer.host_name = printable(now.host_name, 64);
  const Sample* info = now.samples.find("jetmem_device_info");
  if (info == nullptr) {
    explain(answer.absent, "device", std::nullopt, now.absence_reason("device"));
    return;
  }
  answer.model = printable(info->label("model"), 100);
  answer.soc = printable(info->label("soc"), 64);
  answer.l4t = printable(info->label("l4t"), 64);
  answer.kernel = printable(info->label("kernel"), 100);
}

void add_memory(Answer& answer, const DeviceNow& now) {
  const SampleSet& samples = now.samples;
  answer.mem_total_bytes = samples.meminfo("MemTotal");
  answer.available_bytes = samples.meminfo("MemAvailable");
  answer.available_ratio = samples.value("jetmem_memory_available_ratio");
  if (!answer.available_ratio && answer.available_bytes && answer.mem_total_bytes.value_or(0) > 0) {
    answer.available_ratio = *answer.available_bytes / *answer.mem_total_bytes;
  }
  answer.pressure_level = samples.value("jetmem_memory_pressure_level");
  const auto stalled = [&](const char* kind) {
    return samples.value("jetmem_pressure_stall_ratio",
                         {{"resource", "memory"}, {"kind", kind}, {"window", "10s"}});
  };
  answer.pressure_some_ratio = stalled("some");
  answer.pressure_full_ratio = stalled("full");
  answer.swap_bytes = samples.meminfo("SwapTotal");
  if (const auto free = samples.meminfo("SwapFree"); free && answer.swap_bytes) {
    answer.swap_used_bytes = std::max(*answer.swap_bytes - *free, 0.0);
  }
  answer.exhaustion_seconds = samples.value("jetmem_memory_exhaustion_seconds");
  if (!answer.exhaustion_seconds) {
    answer.exhaustion_seconds =
        samples.value("jetmem_trend_exhaustion_seconds", {{"of", "MemAvailable"}});
  }
  const std::string why = now.absence_reason("meminfo");
  explain(answer.absent, "mem_total_bytes", answer.mem_total_bytes, why);
  explain(answer.absent, "available_bytes", answer.available_bytes, why);
  explain(answer.absent, "swap_used_bytes", answer.swap_used_bytes, why);
  explain(answer.absent, "pressure_some_ratio", answer.pressure_some_ratio,
          now.absence_reason("pressure"));
}

// By name from nvmap; without nvmap from the processes source.
void add_gpu_memory(Answer& answer, const DeviceNow& now) {
  std::map<std::string, double> by_name;
  for (const Sample& sample : now.samples.family("jetmem_nvmap_process_bytes")) {
    if (sample.label("heap") == "iovmm")
      by_name[std::string(sample.label("process"))] += sample.value;
  }
  if (by_name.empty()) {
    for (const Sample& sample : now.samples.family("jetmem_process_group_gpu_bytes")) {
      by_name[std::string(sample.label("command"))] += sample.value;
    }
  }
  for (const auto& [name, bytes] : by_name) {
    if (bytes > 0) answer.gpu_processes.push_back({printable(name, 64), bytes});
  }
  std::stable_sort(answer.gpu_processes.begin(), answer.gpu_processes.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (answer.gpu_processes.size() > Answer::kMaxProcesses) {
    answer.gpu_processes.resize(Answer::kMaxProcesses);
  }
  for (const MemoryBudget::Part& part : answer.budget.parts) {
    if (part.name != "gpu") continue;
    answer.gpu_bytes = part.bytes ? part.bytes : part.reported_bytes;
    // nvmap's page pool is the GPU's, but free.
    for (const MemoryBudget::Piece& piece : part.components) {
      if (piece.name == "nvmap_stock" && answer.gpu_bytes) *answer.gpu_bytes -= piece.bytes;
    }
    answer.no_gpu = part.none;
    explain(answer.absent, "gpu_bytes", answer.gpu_bytes, part.why);
    if (answer.gpu_processes.empty() && by_name.empty()) {
      explain(answer.absent, "gpu_processes", std::nullopt,
              part.why.empty() ? "no source reports processes" : part.why);
    }
  }
}

// Lines that only accompany another event.
bool is_companion(std::string_view kind) {
  return kind == "oom_invoked" || kind == "oom_kill_info" || kind == "oom_reaper" ||
         kind == "ratelimit_suppressed";
}

bool is_of_this_boot(const EventRecord& event, const DeviceNow& now) {
  return event.boot == 0 || (now.boot != 0 && event.boot == now.boot);
}

// Nobody set an earlier clock.
bool is_plausible_wall(double wall) { return wall >= to_seconds(kFirstPlausibleTime); }

std::optional<double> wall_seconds_of(const EventRecord& event) {
  if (!event.wall || !is_plausible_wall(to_seconds(*event.wall))) return std::nullopt;
  return to_seconds(*event.last_wall());
}

// A wall clock that was set meanwhile makes a moment lie in the future, one of this boot lie before
// it, or an earlier one lie within it: then nobody knows how long ago it was.
std::optional<double> credible_age(double age, bool this_boot, const DeviceNow& now) {
  constexpr double kSlack = 2;
  if (age < -kSlack) return std::nullopt;
  if (now.since_boot > 0 && this_boot && age > now.since_boot + kSlack) return std::nullopt;
  if (!this_boot && age < now.since_boot - kSlack) return std::nullopt;
  return std::max(age, 0.0);
}

// Of the last, where several are kept as one. Absent: unknown.
std::optional<double> age_of(const EventRecord& event, const DeviceNow& now) {
  const bool this_boot = is_of_this_boot(event, now);
  // The boot clock is right even if the wall clock is not set.
  if (this_boot && event.at && now.since_boot > 0) {
    return credible_age(now.since_boot - to_seconds(*event.last_at()), true, now);
  }
  if (event.wall && now.wall && (this_boot || event.wall_trusted)) {
    return credible_age(*now.wall - to_seconds(*event.last_wall()), this_boot, now);
  }
  return std::nullopt;
}

// Before this boot is longer ago than this boot lasts.
bool is_older_than_a_day(const EventRecord& event, const std::optional<double>& age,
                         const DeviceNow& now) {
  if (age) return *age > kDay;
  return !is_of_this_boot(event, now) && now.boot != 0 && now.since_boot > kDay;
}

// The counter covers the whole boot, the list only the last events.
void add_faults(Answer& answer, const DeviceNow& now) {
  std::map<std::string, Answer::Fault> kinds;
  std::map<std::string, bool> ageless;
  const bool known = now.no_events.empty();
  const auto counters = now.samples.family("jetmem_kernel_events_total");
  double kills_of_probe = 0;
  for (const Sample& sample : counters) {
    const std::string kind = printable(sample.label("kind"), 64);
    if (sample.label("origin") == "probe") {
      if (kind == "oom_kill" || kind == "oom_kill_memcg") kills_of_probe += sample.value;
      continue;
    }
    if (sample.value <= 0 || is_companion(kind)) continue;
    Answer::Fault& fault = kinds[kind];
    fault.since_boot = fault.since_boot.value_or(0) + sample.value;
    fault.last_wall = now.samples.value("jetmem_kernel_event_last_seen_timestamp_seconds",
                                        {{"kind", sample.label("kind")}});
  }
  for (const Sample& sample : now.samples.family("jetmem_kernel_events_suppressed_total")) {
    const auto fault = kinds.find(printable(sample.label("kind"), 64));
    if (fault != kinds.end()) fault->second.suppressed = sample.value;
  }
  // Counted, but not seen in the log: it was overwritten, or cannot be read.
  const double kills =
      now.samples.value("jetmem_vmstat_oom_kill_total").value_or(0) - kills_of_probe;
  const bool is_logged = std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) {
    return kind.first.starts_with("oom_kill") || kind.first == "oom_no_victim";
  });
  if (kills > 0 && !is_logged) kinds["oom_kill"].since_boot = kills;
  // All of this boot was today: its counters tell, which have what the kernel did not print.
  const bool counted_today = now.since_boot > 0 && now.since_boot <= kDay;
  if (counted_today) {
    for (auto& [kind, fault] : kinds) fault.last_day = fault.since_boot;
  }
  bool some_old = false;
  for (const EventRecord& event : now.events) {
    const auto age = age_of(event, now);
    const bool is_old = is_older_than_a_day(event, age, now);
    some_old |= is_old;
    if (event.what != EventWhat::kKernel || event.origin == "probe" || is_companion(event.kind)) {
      continue;
    }
    if (kinds.find(event.kind) == kinds.end() && is_old) continue;
    Answer::Fault& fault = kinds[event.kind];
    const bool this_boot = is_of_this_boot(event, now);
    if (fault.last.empty()) {
      fault.last = printable(event.summary, 300);
      fault.severity = event.severity;
      fault.before_this_boot = !this_boot;
      fault.last_age_seconds = age;
      if (!this_boot || !fault.last_wall) fault.last_wall = wall_seconds_of(event);
    }
    if (counted_today && fault.since_boot && this_boot) continue;
    if (!age && !is_old) ageless[event.kind] = true;
    if (age && !is_old) {
      fault.last_day = fault.last_day.value_or(0) + static_cast<double>(event.count);
    }
  }
  for (auto& [kind, fault] : kinds) {
    if (fault.before_this_boot && fault.since_boot) {
      // The list lacks those of this boot, which the counters have.
      fault.before_this_boot = false;
      fault.last_age_seconds.reset();
      fault.last_wall =
          now.samples.value("jetmem_kernel_event_last_seen_timestamp_seconds", {{"kind", kind}});
    }
    if (!fault.last_wall || fault.before_this_boot) continue;
    // Without an event, only a clock that was right then and is now tells.
    const auto age =
        now.wall ? credible_age(*now.wall - *fault.last_wall, true, now) : std::nullopt;
    if (!fault.last_age_seconds) fault.last_age_seconds = age;
    // A moment that this boot cannot have seen is of a clock that was set meanwhile, or never.
    if ((now.wall && !age) || !is_plausible_wall(*fault.last_wall)) fault.last_wall.reset();
  }
  const bool full = now.events.size() >= DeviceNow::kMaxEvents && !some_old;
  for (auto& [kind, fault] : kinds) {
    fault.kind = kind;
    if (known && !fault.last_day) fault.last_day = 0;
    // A part of the events is not a count.
    const bool is_unlogged = kind == "oom_kill" && kills > 0 && !is_logged && !counted_today;
    if (!known || ageless[kind] || is_unlogged) fault.last_day.reset();
    if (!fault.last_day) {
      explain(fault.absent, "last_day", std::nullopt,
              !known        ? now.no_events
              : is_unlogged ? "the kernel counted them, and its messages about them are lost"
                            : "the time of some events is unknown: the clock was not set");
    }
    fault.at_least =
        (full || (!counted_today && fault.suppressed.value_or(0) > 0)) && fault.last_day;
    answer.faults.push_back(fault);
  }
  // Those of this boot first, the last first.
  std::stable_sort(answer.faults.begin(), answer.faults.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Answer::Fault& fault) {
      return std::pair(fault.before_this_boot, fault.last_age_seconds.value_or(kDay * 1000));
    };
    return key(a) < key(b);
  });
  if (!known) answer.absent.emplace_back("last_day", now.no_events);
  // Events of other categories prove nothing about the kernel log.
  std::string unseen = now.absence_reason("kernel_log");
  if (unseen.empty() && counters.empty()) unseen = "kernel events were not counted";
  // Before the start of jetmemd too: it began to read after the first ones were gone.
  const auto lost = now.samples.sum("jetmem_kernel_log_lost_records_total");
  if (unseen.empty() && lost.value_or(0) > 0) {
    unseen = doctor::counted(*lost, "kernel message was", "kernel messages were") +
             " overwritten before jetmem could read them";
  }
  if (!unseen.empty()) answer.absent.emplace_back("faults", std::move(unseen));
}

void add_last_event(Answer& answer, const DeviceNow& now) {
  if (!now.no_events.empty()) answer.absent.emplace_back("last_event", now.no_events);
  for (const EventRecord& event : now.events) {
    if (event.what != EventWhat::kKernel || event.origin == "probe" || is_companion(event.kind)) {
      continue;
    }
    StatusEvent& last = answer.last_event.emplace();
    last.kind = event.kind;
    last.severity = event.severity;
    last.subject = printable(event.subject, 100);
    last.summary = printable(event.summary, 300);
    last.count = event.count;
    last.lasted_seconds = to_seconds(event.lasted());
    last.age_seconds = age_of(event, now);
    last.before_this_boot = !is_of_this_boot(event, now);
    // Its moment is right only where its age is.
    const auto wall = wall_seconds_of(event);
    if (last.before_this_boot || last.age_seconds) last.wall = wall;
    return;
  }
}

void add_alerts(Answer& answer, const DeviceNow& now) {
  if (!now.alerts) {
    answer.absent.emplace_back("alerts", now.no_alerts.empty() ? "not evaluated" : now.no_alerts);
    return;
  }
  const AlertsAnswer& alerts = *now.alerts;
  answer.rules = alerts.rules.size() + alerts.rules_omitted;
  answer.firing = alerts.count_alerts("firing");
  answer.pending = alerts.count_alerts("pending");
  answer.unknown = alerts.count("unknown");
  for (const AlertsAnswer::Rule& rule : alerts.rules) {
    if (rule.state != "firing" && rule.state != "pending") continue;
    Answer::Alert shown;
    shown.name = printable(rule.name, 100);
    shown.severity = rule.severity;
    shown.state = rule.state;
    shown.summary = printable(rule.summary, 300);
    shown.cause = printable(rule.cause, 500);
    shown.remedy = printable(rule.remedy, 500);
    shown.runbook = printable(rule.runbook, 300);
    bool first = true;
    for (const AlertsAnswer::Alert& alert : rule.alerts) {
      if (alert.state != rule.state) continue;
      if (!first) {
        ++shown.more;
        continue;
      }
      first = false;
      shown.summary = printable(alert.summary, 300);
      shown.cause = printable(alert.cause, 500);
      shown.remedy = printable(alert.remedy, 500);
      shown.active_seconds = active_seconds(now, alert);
    }
    shown.explains =
        std::find(answer.made_of.begin(), answer.made_of.end(), shown.name) != answer.made_of.end();
    answer.alerts.push_back(std::move(shown));
  }
  const auto rank = [](const Answer::Alert& alert) {
    return AlertRank{alert.state, alert.severity, alert.name};
  };
  std::stable_sort(answer.alerts.begin(), answer.alerts.end(),
                   [&](const auto& a, const auto& b) { return comes_before(rank(a), rank(b)); });
  if (answer.alerts.size() > Answer::kMaxAlerts) {
    answer.alerts_omitted = answer.alerts.size() - Answer::kMaxAlerts;
    answer.alerts.resize(Answer::kMaxAlerts);
  }
}

void add_probes(Answer& answer, const DeviceNow& now) {
  for (const Sample& sample : now.samples.family("jetmem_probe_state")) {
    if (answer.probes.size() == Answer::kMaxProbes) break;
    const SampleSet::Match match{{"kind", sample.label("kind")},
                                 {"target", sample.label("target")}};
    Answer::Probe probe;
    probe.kind = printable(sample.label("kind"), 64);
    probe.target = printable(sample.label("target"), 64);
    probe.state = printable(sample.label("state"), 32);
    if (const Sample* failed = now.samples.find("jetmem_probe_failed_bytes", match)) {
      probe.failure =
          printable(failed->label("step"), 64) + ": " + printable(failed->label("error"), 100);
    }
    probe.since_success_seconds = now.samples.value("jetmem_probe_since_success_seconds", match);
    answer.probes.push_back(std::move(probe));
  }
  for (const Sample& age : now.samples.family("jetmem_probe_age_seconds")) {
    answer.probe_age_seconds = std::max(answer.probe_age_seconds.value_or(0), age.value);
  }
  if (answer.probes.empty()) {
    explain(answer.absent, "probes", std::nullopt, now.absence_reason("probe"));
  }
}

void add_health(Answer& answer, const DeviceNow& now) {
  const auto readers = now.samples.family("jetmem_reader");
  if (!readers.empty()) answer.reader = "none";
  for (const Sample& sample : readers) {
    if (sample.value > 0) answer.reader = printable(sample.label("kind"), 32);
  }
  answer.loop_lag_seconds = now.samples.value("jetmem_sample_cycle_lag_max_1m_seconds");
  if (!answer.loop_lag_seconds) {
    answer.loop_lag_seconds = now.samples.value("jetmem_sample_cycle_lag_seconds");
  }
  answer.log_dropped = now.samples.value("jetmem_log_dropped_total");
  // Without a directory for its file it counts no errors: it is only in memory, as it was set.
  if (now.samples.sum("jetmem_history_errors_total")) {
    answer.history_up = now.samples.value("jetmem_history_up");
  }
  answer.daemon_resident_bytes =
      now.samples.value("jetmem_process_resident_memory_bytes", {{"process", "jetmemd"}});
  for (const SourceNow& source : now.sources) {
    if (source.state == "ok" && !source.stale) {
      ++answer.sources_ok;
    } else if (source.state == "denied" || source.state == "failed" || source.stale ||
               source.state == "pending") {
      std::string why = source.skipped.empty() ? source.reason : source.skipped;
      if (!source.grant.empty()) why += (why.empty() ? "" : "; needs ") + source.grant;
      // To spare the device, which is no fault of either.
      const bool on_purpose = source.state == "ok" && !source.skipped.empty();
      const std::string state = on_purpose ? "skipped" : source.stale ? "stale" : source.state;
      answer.blind.push_back({printable(source.name, 64), state, printable(why, 300)});
    }
  }
  const std::string why = now.by == SnapshotOrigin::kDaemon ? "" : "needs jetmemd";
  explain(answer.absent, "loop_lag_seconds", answer.loop_lag_seconds, why);
  explain(answer.absent, "log_dropped", answer.log_dropped, why);
  explain(
      answer.absent, "history_up", answer.history_up,
      why.empty()
          ? "the recorder is disabled, or has no directory (jetmemd.service sets STATE_DIRECTORY)"
          : why);
}

}  // namespace

StatusAnswer status_answer(const DeviceNow& now, History* history) {
  Answer answer;
  static_cast<Judgement&>(answer) = judge(now, history);
  answer.from = answer_from(now);
  add_device(answer, now);
  add_memory(answer, now);
  answer.budget = memory_budget(now);
  answer.cma = cma_answer(now);
  // A status is short: jetmem cma has them.
  for (CmaAnswer::Area& area : answer.cma.areas) area.blocks.clear();
  answer.fragmentation = fragmentation_answer(now);
  answer.thermal = thermal_answer(now);
  add_gpu_memory(answer, now);
  add_faults(answer, now);
  add_last_event(answer, now);
  add_alerts(answer, now);
  add_probes(answer, now);
  add_health(answer, now);
  return answer;
}

}  // namespace jetmem
