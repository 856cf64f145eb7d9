// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/alerts/alert_order.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

constexpr std::array<StepInfo, 19> kSteps{{
    {"restart", "Last restart", examine_restart},
    {"hardware", "Memory and bus hardware", examine_hardware},
    {"memory", "Memory", examine_memory},
    {"fragmentation", "Fragmentation", examine_fragmentation},
    {"cma", "Contiguous memory (CMA)", examine_cma},
    {"dma", "DMA memory of devices", examine_by_events},
    {"smmu", "SMMU faults", examine_smmu},
    {"oom", "Out of memory", examine_oom},
    {"storage", "Swap and storage", examine_by_events},
    {"stalls", "Stalls and crashes", examine_stalls},
    {"thermal", "Heat and power", examine_thermal},
    {"gpu", "GPU and engines", examine_by_events},
    {"gpu_memory", "GPU memory", examine_gpu_memory},
    {"camera", "Cameras", examine_by_events},
    {"site", "Messages of this site's own", examine_site},
    {"probes", "Probes", examine_probes},
    {"versions", "Versions", examine_versions},
    {"daemon", "jetmem itself", examine_daemon},
    // Last: it covers the alerts that no other step covers.
    {"alerts", "Alerts", examine_alerts},
}};

bool is_one_of(std::string_view kind, Kinds kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool is_of_system(const EventRecord& event, Kinds kinds) {
  return event.what == EventWhat::kKernel && event.origin != "probe" &&
         is_one_of(event.kind, kinds);
}

// Labels and file names are in it, which anybody may have chosen.
std::string capped(std::string_view text) { return printable(text, DoctorAnswer::kMaxText); }

struct ActiveAlert {
  std::string name;
  std::string state;
  std::string severity;
  std::string summary;
  Advice advice;
  std::string text;  // of the evidence
  std::optional<double> since;
  bool kept = false;
  // Of what jetmem itself may read: a command has rights of its own, no fault of the device.
  bool about_rights = false;
  bool about_past = false;  // it fires for a while on what happened
};

// A single reading does not know for how long a condition is true; the recorder does.
void add_recorded(const DeviceView& view, std::string_view name, std::vector<ActiveAlert>& out) {
  const auto last = std::find_if(view.found.alerts.begin(), view.found.alerts.end(),
                                 [&](const EventRecord& each) { return each.subject == name; });
  if (last == view.found.alerts.end() || !last->wall) return;
  // Who evaluated them then knows better.
  const bool is_evaluated = view.now.alerts && !view.now.alerts->local_snapshot;
  if (is_evaluated && !view.found.of_other_day) return;
  ActiveAlert alert;
  alert.name = printable(name, 100);
  alert.state = "firing";
  alert.severity = last->severity;
  alert.summary = printable(last->summary, 300);
  alert.since = to_seconds(*last->wall);
  alert.text = " has been firing since " + moment(*alert.since, view.today());
  out.push_back(std::move(alert));
}

void add_evaluated(const DeviceView& view, std::string_view name, std::vector<ActiveAlert>& out) {
  if (!view.now.alerts) return;
  const AlertsAnswer& answer = *view.now.alerts;
  const auto rule = std::find_if(answer.rules.begin(), answer.rules.end(),
                                 [&](const AlertsAnswer::Rule& each) { return each.name == name; });
  if (rule == answer.rules.end()) return;
  for (const AlertsAnswer::Alert& each : rule->alerts) {
    if (each.state != "firing" && each.state != "pending") continue;
    ActiveAlert alert;
    alert.name = name;
    alert.state = each.state;
    alert.severity = rule->severity;
    alert.summary = printable(each.summary, 300);
    alert.kept = each.kept;
    alert.about_past =
        std::any_of(rule->conditions.begin(), rule->conditions.end(), [](const auto& condition) {
          return condition.expression.find("_recent_events") != std::string::npos ||
                 condition.expression.find("jetmem_boot_last_shutdown") != std::string::npos;
        });
    alert.about_rights =
        answer.local_snapshot && !rule->conditions.empty() &&
        std::all_of(rule->conditions.begin(), rule->conditions.end(), [](const auto& condition) {
          return condition.expression.find("jetmem_source_") != std::string::npos;
        });
    if (each.kept) alert.summary += " (no longer so, but its alert still fires)";
    alert.advice = {each.cause, each.remedy, rule->runbook};
    if (answer.evaluated_wall && !answer.local_snapshot) {
      alert.since = *answer.evaluated_wall - each.active_seconds;
    }
    alert.text = each.state == "firing" ? " is firing" : " is pending";
    if (alert.since) alert.text += " since " + moment(*alert.since, view.today());
    out.push_back(std::move(alert));
  }
}

}  // namespace

std::span<const StepInfo> steps() { return kSteps; }

bool DeviceView::is_jetson() const {
  const auto info = now.samples.family("jetmem_device_info");
  return std::any_of(info.begin(), info.end(), [](const Sample& each) {
    return !each.label("l4t").empty() || each.label("soc").starts_with("tegra");
  });
}

bool DeviceView::is_judged_by(std::string_view rule) const {
  return now.alerts && !now.alerts->local_snapshot &&
         std::any_of(now.alerts->rules.begin(), now.alerts->rules.end(), [&](const auto& each) {
           return each.name == rule && each.state != "unknown";
         });
}

void raise(Step& step, Verdict verdict) {
  step.now = std::max(step.now, verdict);
  raise_past(step, verdict);
}

void raise_past(Step& step, Verdict verdict) { step.verdict = std::max(step.verdict, verdict); }

void note(Step& step, std::string text, std::optional<double> time) {
  if (step.evidence.size() >= DoctorAnswer::kMaxEvidence) {
    ++step.evidence_omitted;
    return;
  }
  step.evidence.push_back({capped(text), time});
}

void advise(Step& step, std::string_view cause, std::string_view remedy, std::string_view runbook) {
  if (step.cause.empty() && step.remedy.empty()) {
    step.cause = capped(cause);
    step.remedy = capped(remedy);
    if (step.runbook.empty()) step.runbook = std::string(runbook);
  }
}

void conclude(Step& step, std::string summary) {
  if (step.summary.empty()) step.summary = capped(summary);
}

void found(Step& step, Verdict verdict, std::string summary, const Advice& advice) {
  raise(step, verdict);
  found_past(step, verdict, std::move(summary), advice);
}

void found_past(Step& step, Verdict verdict, std::string summary, const Advice& advice) {
  raise_past(step, verdict);
  conclude(step, std::move(summary));
  advise(step, advice.cause, advice.remedy, advice.runbook);
}

void unknown(const DeviceView& view, Step& step, std::string_view what, std::string_view source) {
  found(step, Verdict::kUnknown,
        std::string(what) + " unknown: " + absent_text(view, source) + ".");
}

const Sample* largest(const DeviceView& view, std::string_view family,
                      bool (*counts)(const Sample&)) {
  const Sample* most = nullptr;
  for (const Sample& each : view.now.samples.family(family)) {
    if (counts != nullptr && !counts(each)) continue;
    if (most == nullptr || each.value > most->value) most = &each;
  }
  return most;
}

void take_alerts(const DeviceView& view, Step& step, std::span<const std::string_view> names) {
  if (view.claimed != nullptr) view.claimed->insert(names.begin(), names.end());
  std::vector<ActiveAlert> active;
  for (const std::string_view name : names) {
    add_recorded(view, name, active);
    add_evaluated(view, name, active);
  }
  std::stable_sort(active.begin(), active.end(), [](const ActiveAlert& a, const ActiveAlert& b) {
    return comes_before({a.state, a.severity, a.name}, {b.state, b.severity, b.name});
  });
  for (const ActiveAlert& alert : active) {
    note(step, "Alert " + alert.name + alert.text + ": " + alert.summary + ".", alert.since);
    if (alert.severity == "info") continue;
    const bool is_critical = alert.severity == "critical";
    const bool is_firing = alert.state == "firing";
    // What a pending one waits for may be over before it fires; one reading cannot wait.
    const bool raises =
        !alert.about_rights && (is_firing || is_critical || view.now.alerts->local_snapshot);
    step.alerts.push_back({alert.name, printable(alert.severity, 20), alert.state, alert.kept,
                           raises, alert.summary, alert.since});
    if (!raises) continue;
    const bool waits = !is_firing && !view.now.alerts->local_snapshot;
    const auto report = alert.about_past ? found_past : found;
    report(step, is_firing && is_critical ? Verdict::kCritical : Verdict::kWarning,
           alert.summary + (waits ? " (pending)." : "."), alert.advice);
  }
  // The answer has the runbook as a file; keep only its name.
  if (const auto slash = step.runbook.rfind('/'); slash != std::string::npos) {
    step.runbook.erase(0, slash + 1);
  }
  if (step.runbook.size() > 3 && step.runbook.ends_with(".md")) {
    step.runbook.resize(step.runbook.size() - 3);
  }
}

void acknowledge(const DeviceView& view, Step& step) {
  if (step.verdict < Verdict::kWarning || step.now >= Verdict::kWarning) return;
  // EDAC says how many errors there were, not when.
  const auto counted = view.now.samples.sum("jetmem_edac_errors_total");
  if (step.name == "hardware" && counted.value_or(0) > 0) return;
  // Without a time it happened in this boot.
  double last = view.found.now > 0 ? view.found.now - view.now.since_boot : 0;
  for (const DoctorAnswer::Evidence& each : step.evidence) {
    last = std::max(last, each.time.value_or(0));
  }
  for (const Seen& each : view.found.events) {
    const auto kind = kernel_log::kind_named(each.event->kind);
    if (!kind || kernel_log::info_of(*kind).step != step.name) continue;
    last = std::max(last, each.time + to_seconds(each.event->lasted()));
  }
  for (const Sample& each : view.now.samples.family("jetmem_acknowledged_timestamp_seconds")) {
    if (each.label("finding") != step.name || each.value < last) continue;
    step.verdict = step.now;
    for (DoctorAnswer::Alert& alert : step.alerts) alert.raises = false;
    const std::string by = printable(each.label("by"), 32);
    std::string text = "Acknowledged at " + moment(each.value, view.today());
    if (!by.empty()) text += " by " + by;
    step.evidence.insert(step.evidence.begin(),
                         {text + ": " + printable(each.label("why"), 200) + ".", each.value});
    return;
  }
}

std::string absent_text(const DeviceView& view, std::string_view source) {
  return printable(view.now.absence_reason(source), 400);
}

Seeing see(const DeviceView& view, Step& step, std::string_view source) {
  const SourceNow* const found = view.now.source(source);
  if (found != nullptr && found->state == "ok" && !found->stale) return Seeing::kSeen;
  if (found != nullptr && found->state == "absent") return Seeing::kAbsent;
  std::string why = absent_text(view, source);
  if (why.empty()) why = "source " + std::string(source) + " is not readable";
  why = "Not readable: " + why;
  if (found != nullptr && !found->grant.empty()) {
    why += " (grant: " + printable(found->grant, 300) + ")";
  }
  note(step, why + ".");
  raise(step, Verdict::kUnknown);
  return Seeing::kBlind;
}

Counted count_events(const DeviceView& view, Kinds kinds) {
  Counted out;
  for (const Sample& each : view.now.samples.family("jetmem_kernel_events_total")) {
    if (!is_one_of(each.label("kind"), kinds)) continue;
    (each.label("origin") == "probe" ? out.of_probe : out.total) += each.value;
  }
  for (const Sample& each : view.now.samples.family("jetmem_kernel_events_suppressed_total")) {
    if (is_one_of(each.label("kind"), kinds)) out.suppressed += each.value;
  }
  for (const Sample& each :
       view.now.samples.family("jetmem_kernel_event_last_seen_timestamp_seconds")) {
    if (!is_one_of(each.label("kind"), kinds)) continue;
    if (!out.last || each.value > *out.last) out.last = each.value;
  }
  for (const Seen& each : view.found.events) {
    if (!is_of_system(*each.event, kinds)) continue;
    out.recent += static_cast<double>(each.event->count);
    const double last = each.time + to_seconds(each.event->lasted());
    if (!out.last || last > *out.last) out.last = last;
  }
  out.from_probe_only = out.total == 0 && out.recent == 0 && out.of_probe > 0;
  if (out.total > 0 || out.recent > 0) {
    // Without a time, assume that it is recent.
    out.is_recent = !out.last || view.found.now <= 0 || view.found.now - *out.last <= kRecent;
  }
  return out;
}

std::string counted_text(const DeviceView& view, const Counted& counted) {
  std::string out = counted.at_least ? "at least " : "";
  if (counted.total > 0) {
    out += count(counted.total) + " since boot";
    if (counted.suppressed > 0) {
      out += ", of these " + count(counted.suppressed) + " suppressed by the kernel";
    }
  } else {
    out += count(counted.recent) + " in the last 24 h, before this boot or this log";
  }
  if (counted.last) {
    out += ", the last at " + moment(*counted.last, view.today());
    if (view.found.now > *counted.last) {
      out += " (" + span(view.found.now - *counted.last) + " ago)";
    }
  } else {
    out += ", time unknown";
  }
  return out;
}

bool are_harmless(const DeviceView& view, Kinds kinds) {
  const auto is_of_kinds = [&](const diagnosis::Cause& each) {
    return is_one_of(each.kind, kinds);
  };
  const auto harms = [&](const diagnosis::Cause& each) {
    return is_of_kinds(each) && each.harm != diagnosis::Harm::kNone;
  };
  return std::any_of(view.causes.begin(), view.causes.end(), is_of_kinds) &&
         std::none_of(view.causes.begin(), view.causes.end(), harms);
}

Counted examine_failures(const DeviceView& view, Step& step,
                         std::initializer_list<std::string_view> kinds, std::string_view noted,
                         std::string_view headline, const Advice& advice) {
  const Counted out = count_events(view, kinds);
  if (out.total <= 0 && out.recent <= 0) return out;
  const std::string text = ": " + counted_text(view, out) + ".";
  note(step, std::string(noted) + text, out.last);
  note_events(view, step, kinds, 2);
  if (!out.is_recent) return out;
  if (are_harmless(view, Kinds(kinds.begin(), kinds.size()))) return out;
  found_past(step, Verdict::kWarning, std::string(headline) + text, advice);
  return out;
}

void note_events(const DeviceView& view, Step& step, Kinds kinds, std::size_t most) {
  std::size_t n = 0;
  for (auto it = view.found.events.rbegin(); it != view.found.events.rend() && n < most; ++it) {
    if (!is_of_system(*it->event, kinds)) continue;
    const double lasted = to_seconds(it->event->lasted());
    std::string text =
        moment(it->time + lasted, view.today()) + ": " + printable(it->event->summary, 300);
    if (it->event->count > 1) text += " (" + repeated(it->event->count, lasted) + ")";
    note(step, text, it->time + lasted);
    ++n;
  }
  if (n > 0) return;
  // Events without a time, or older than a day.
  for (const EventRecord& event : view.now.events) {
    if (n == most) return;
    if (!is_of_system(event, kinds)) continue;
    std::string when;
    std::optional<double> time;
    if (event.wall) {
      time = to_seconds(*event.wall);
      when = moment(*time, view.today()) + ": ";
    } else if (event.at) {
      when = span(to_seconds(*event.at)) + " after boot: ";
    }
    note(step, when + printable(event.summary, 300), time);
    ++n;
  }
}

}  // namespace jetmem::doctor
