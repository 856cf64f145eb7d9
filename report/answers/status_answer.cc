#include "report/answers/status_answer.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/answers/status_verdict.h"

namespace jetmem {
namespace {

using Answer = StatusAnswer;

constexpr double kDay = 86'400;

void add_device(Answer& answer, const DeviceNow& now) {
  const Sample* info = now.samples.find("jetmem_device_info");
  if (info == nullptr) {
    explain(answer.absent, "device", std::nullopt, now.why_absent("device"));
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
  answer.pressure_some_ratio = samples.value(
      "jetmem_pressure_stall_ratio", {{"resource", "memory"}, {"kind", "some"}, {"window", "10s"}});
  answer.swap_bytes = samples.meminfo("SwapTotal");
  if (const auto free = samples.meminfo("SwapFree"); free && answer.swap_bytes) {
    answer.swap_used_bytes = std::max(*answer.swap_bytes - *free, 0.0);
  }
  answer.exhaustion_seconds =
      samples.value("jetmem_trend_exhaustion_seconds", {{"of", "MemAvailable"}});
  const std::string why = now.why_absent("meminfo");
  explain(answer.absent, "mem_total_bytes", answer.mem_total_bytes, why);
  explain(answer.absent, "available_bytes", answer.available_bytes, why);
  explain(answer.absent, "swap_used_bytes", answer.swap_used_bytes, why);
  explain(answer.absent, "pressure_some_ratio", answer.pressure_some_ratio,
          now.why_absent("pressure"));
}

// nvmap's by name where it is there; else what the processes' source knows of them.
void add_gpu(Answer& answer, const DeviceNow& now) {
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
    answer.gpu_bytes = part.bytes ? part.bytes : part.told_bytes;
    answer.no_gpu = part.none;
    explain(answer.absent, "gpu_bytes", answer.gpu_bytes, part.why);
    if (answer.gpu_processes.empty() && by_name.empty()) {
      explain(answer.absent, "gpu_processes", std::nullopt,
              part.why.empty() ? "no source tells of processes" : part.why);
    }
  }
}

// Lines that only accompany another event's.
bool is_companion(std::string_view kind) {
  return kind == "oom_invoked" || kind == "oom_kill_info" || kind == "oom_reaper" ||
         kind == "ratelimit_suppressed";
}

bool is_of_this_boot(const EventRecord& event, const DeviceNow& now) {
  return event.boot == 0 || (now.boot != 0 && event.boot == now.boot);
}

// At least so long ago; absent: nobody can tell.
std::optional<double> age_of(const EventRecord& event, const DeviceNow& now) {
  const bool this_boot = is_of_this_boot(event, now);
  // The boot clock needs no clock that was set.
  if (this_boot && event.at && now.since_boot > 0) return now.since_boot - to_seconds(*event.at);
  if (event.wall && now.wall && (this_boot || event.wall_trusted)) {
    return *now.wall - to_seconds(*event.wall);
  }
  // Before this boot is longer ago than this boot lasts.
  if (!this_boot && now.boot != 0 && now.since_boot > kDay) return now.since_boot;
  return std::nullopt;
}

// The counter has all since boot, the list the last ones: neither is taken for the other.
void add_faults(Answer& answer, const DeviceNow& now) {
  std::map<std::string, Answer::Fault> kinds;
  std::map<std::string, bool> ageless;
  const bool known = now.no_events.empty();
  const auto counters = now.samples.family("jetmem_kernel_events_total");
  for (const Sample& sample : counters) {
    const std::string kind = printable(sample.label("kind"), 64);
    if (sample.label("origin") == "probe" || sample.value <= 0 || is_companion(kind)) continue;
    Answer::Fault& fault = kinds[kind];
    fault.since_boot = fault.since_boot.value_or(0) + sample.value;
    fault.last_wall = now.samples.value("jetmem_kernel_event_last_seen_timestamp_seconds",
                                        {{"kind", sample.label("kind")}});
  }
  bool some_old = false;
  for (const EventRecord& event : now.events) {
    const auto age = age_of(event, now);
    if (age && *age > kDay) some_old = true;
    if (event.what != EventWhat::kKernel || event.origin == "probe" || is_companion(event.kind)) {
      continue;
    }
    if (kinds.find(event.kind) == kinds.end() && age && *age > kDay) continue;
    Answer::Fault& fault = kinds[event.kind];
    if (fault.last.empty()) {
      fault.last = printable(event.summary, 300);
      fault.severity = event.severity;
      if (!fault.last_wall && event.wall) fault.last_wall = to_seconds(*event.wall);
    }
    if (!age) ageless[event.kind] = true;
    if (age && *age <= kDay) {
      fault.last_day = fault.last_day.value_or(0) + static_cast<double>(event.count);
    }
  }
  const bool full = now.events.size() >= DeviceNow::kMaxEvents && !some_old;
  for (auto& [kind, fault] : kinds) {
    fault.kind = kind;
    if (known && !fault.last_day) fault.last_day = 0;
    // Some of the events are no count of them.
    if (!known || ageless[kind]) fault.last_day.reset();
    if (!fault.last_day) {
      explain(
          fault.absent, "last_day", std::nullopt,
          known ? "when some of them happened is not known: the clock was not set" : now.no_events);
    }
    fault.at_least = full && fault.last_day;
    answer.faults.push_back(fault);
  }
  std::stable_sort(answer.faults.begin(), answer.faults.end(), [](const auto& a, const auto& b) {
    return a.last_wall.value_or(0) > b.last_wall.value_or(0);
  });
  if (!known) answer.absent.emplace_back("last_day", now.no_events);
  // Other events than the kernel's say nothing of it.
  std::string unseen = now.why_absent("kernel_log");
  if (unseen.empty() && counters.empty()) unseen = "the kernel's events were not counted";
  if (!unseen.empty()) answer.absent.emplace_back("faults", std::move(unseen));
}

int worth(const Answer::Alert& alert) {
  const int severity = alert.severity == "critical" ? 3 : alert.severity == "warning" ? 2 : 1;
  return severity + (alert.state == "firing" ? 10 : 0);
}

void add_alerts(Answer& answer, const DeviceNow& now) {
  if (!now.alerts) {
    answer.absent.emplace_back("alerts",
                               now.no_alerts.empty() ? "nobody judged them" : now.no_alerts);
    return;
  }
  const AlertsAnswer& alerts = *now.alerts;
  answer.rules = alerts.rules.size() + alerts.rules_left_out;
  answer.firing = alerts.count("firing");
  answer.pending = alerts.count("pending");
  answer.unknown = alerts.count("unknown");
  for (const AlertsAnswer::Rule& rule : alerts.rules) {
    if (rule.state != "firing" && rule.state != "pending") continue;
    Answer::Alert shown;
    shown.name = printable(rule.name, 100);
    shown.severity = rule.severity;
    shown.state = rule.state;
    shown.summary = printable(rule.summary, 300);
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
      shown.active_seconds = alert.active_seconds;
    }
    answer.alerts.push_back(std::move(shown));
  }
  std::stable_sort(answer.alerts.begin(), answer.alerts.end(),
                   [](const auto& a, const auto& b) { return worth(a) > worth(b); });
  if (answer.alerts.size() > Answer::kMaxAlerts) {
    answer.alerts_left_out = answer.alerts.size() - Answer::kMaxAlerts;
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
    explain(answer.absent, "probes", std::nullopt, now.why_absent("probe"));
  }
}

void add_health(Answer& answer, const DeviceNow& now) {
  const auto readers = now.samples.family("jetmem_reader");
  if (!readers.empty()) answer.reader = "none";
  for (const Sample& sample : readers) {
    if (sample.value > 0) answer.reader = printable(sample.label("kind"), 32);
  }
  answer.loop_lag_seconds = now.samples.value("jetmem_round_lag_max_1m_seconds");
  if (!answer.loop_lag_seconds) {
    answer.loop_lag_seconds = now.samples.value("jetmem_round_lag_seconds");
  }
  answer.log_dropped = now.samples.value("jetmem_log_dropped_total");
  answer.history_up = now.samples.value("jetmem_history_up");
  answer.daemon_resident_bytes =
      now.samples.value("jetmem_process_resident_memory_bytes", {{"process", "jetmemd"}});
  for (const SourceNow& source : now.sources) {
    if (source.state == "ok" && !source.stale) {
      ++answer.sources_ok;
    } else if (source.state == "denied" || source.state == "failed" || source.stale ||
               source.state == "pending") {
      std::string why = source.skipped.empty() ? source.reason : source.skipped;
      if (!source.grant.empty()) why += (why.empty() ? "" : "; needs ") + source.grant;
      answer.blind.push_back(
          {printable(source.name, 64), source.stale ? "stale" : source.state, printable(why, 300)});
    }
  }
  const std::string why = now.by == LookBy::kDaemon ? "" : "no daemon was asked";
  explain(answer.absent, "loop_lag_seconds", answer.loop_lag_seconds, why);
  explain(answer.absent, "log_dropped", answer.log_dropped, why);
  explain(answer.absent, "history_up", answer.history_up,
          why.empty() ? "the recorder is switched off, or not there" : why);
}

}  // namespace

std::string_view status_level_name(StatusLevel level) {
  switch (level) {
    case StatusLevel::kOk:
      return "ok";
    case StatusLevel::kWarning:
      return "warning";
    case StatusLevel::kCritical:
      return "critical";
    case StatusLevel::kUnknown:
      return "unknown";
  }
  return "unknown";
}

StatusAnswer status_answer(const DeviceNow& now) {
  Answer answer;
  answer.from = answer_from(now);
  add_device(answer, now);
  add_memory(answer, now);
  answer.budget = memory_budget(now);
  answer.cma = cma_answer(now);
  answer.fragmentation = fragmentation_answer(now);
  answer.thermal = thermal_answer(now);
  add_gpu(answer, now);
  add_faults(answer, now);
  add_alerts(answer, now);
  add_probes(answer, now);
  add_health(answer, now);
  judge_status(answer, now);
  return answer;
}

}  // namespace jetmem
