#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

constexpr std::array<StepInfo, 12> kSteps{{
    {"restart", "Last restart", examine_restart},
    {"memory", "Memory", examine_memory},
    {"fragmentation", "Fragmentation", examine_fragmentation},
    {"cma", "Contiguous memory (CMA)", examine_cma},
    {"smmu", "SMMU faults", examine_smmu},
    {"oom", "Out of memory", examine_oom},
    {"thermal", "Heat and power", examine_thermal},
    {"gpu_memory", "GPU memory", examine_gpu_memory},
    {"probes", "Probes", examine_probes},
    {"versions", "Versions", examine_versions},
    {"daemon", "jetmem itself", examine_daemon},
    // Last: it takes what no other has taken.
    {"alerts", "Alerts", examine_alerts},
}};

bool is_one_of(std::string_view kind, std::initializer_list<std::string_view> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string capped(std::string text) {
  if (text.size() > DoctorAnswer::kMaxText) text = printable(text, DoctorAnswer::kMaxText);
  return text;
}

// One look does not know for how long a condition holds; the recorder does.
void take_recorded_alerts(const Look& look, Step& step, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto last = std::find_if(look.found.alerts.begin(), look.found.alerts.end(),
                                   [&](const EventRecord& each) { return each.subject == name; });
    if (last == look.found.alerts.end() || last->kind != "firing" || !last->wall) continue;
    const double since = seconds_of(*last->wall);
    const std::string summary = printable(last->summary, 300);
    note(step,
         "Alert " + printable(name, 100) + " has fired since " + moment(since, look.today()) +
             ", the recorder says: " + summary + ".",
         since);
    if (last->severity == "info") continue;
    raise(step, last->severity == "critical" ? Verdict::kCritical : Verdict::kWarning);
    conclude(step, summary + ".");
  }
}

}  // namespace

std::span<const StepInfo> steps() { return kSteps; }

bool Look::is_jetson() const {
  const auto info = now.samples.family("jetmem_device_info");
  return std::any_of(info.begin(), info.end(),
                     [](const Sample& each) { return !each.label("l4t").empty(); });
}

void raise(Step& step, Verdict verdict) { step.verdict = std::max(step.verdict, verdict); }

void note(Step& step, std::string text, std::optional<double> time) {
  if (step.evidence.size() >= DoctorAnswer::kMaxEvidence) {
    ++step.evidence_left_out;
    return;
  }
  step.evidence.push_back({capped(std::move(text)), time});
}

void advise(Step& step, std::string_view cause, std::string_view remedy, std::string_view runbook) {
  if (step.cause.empty() && step.remedy.empty()) {
    step.cause = capped(std::string(cause));
    step.remedy = capped(std::string(remedy));
    if (step.runbook.empty()) step.runbook = std::string(runbook);
  }
}

void conclude(Step& step, std::string summary) {
  if (step.summary.empty()) step.summary = capped(std::move(summary));
}

void take_alerts(const Look& look, Step& step, std::span<const std::string_view> names) {
  if (look.claimed != nullptr) look.claimed->insert(names.begin(), names.end());
  take_recorded_alerts(look, step, names);
  if (!look.now.alerts) return;
  const AlertsAnswer& answer = *look.now.alerts;
  for (const std::string_view name : names) {
    const auto rule =
        std::find_if(answer.rules.begin(), answer.rules.end(),
                     [&](const AlertsAnswer::Rule& each) { return each.name == name; });
    if (rule == answer.rules.end()) continue;
    for (const AlertsAnswer::Alert& alert : rule->alerts) {
      if (alert.state != "firing" && alert.state != "pending") continue;
      std::optional<double> since;
      if (answer.judged_wall && !answer.one_look) {
        since = *answer.judged_wall - alert.active_seconds;
      }
      const bool fires = alert.state == "firing";
      std::string text = "Alert " + std::string(name) + (fires ? " fires" : " is pending");
      if (since) text += " since " + moment(*since, look.today());
      note(step, text + ": " + alert.summary + ".", since);
      if (!fires) continue;
      const bool is_info = rule->severity == "info";
      if (!is_info) {
        raise(step, rule->severity == "critical" ? Verdict::kCritical : Verdict::kWarning);
        conclude(step, alert.summary + ".");
        advise(step, alert.cause, alert.remedy, name.empty() ? "" : rule->runbook);
      }
    }
  }
  // The answer has the runbook as a file; its name is what outlives the machine.
  if (const auto slash = step.runbook.rfind('/'); slash != std::string::npos) {
    step.runbook.erase(0, slash + 1);
  }
  if (step.runbook.size() > 3 && step.runbook.ends_with(".md")) {
    step.runbook.resize(step.runbook.size() - 3);
  }
}

std::string absent_text(const Look& look, std::string_view source) {
  return printable(look.now.why_absent(source), 400);
}

Seeing see(const Look& look, Step& step, std::string_view source) {
  const SourceNow* const found = look.now.source(source);
  if (found != nullptr && found->state == "ok" && !found->stale) return Seeing::kSeen;
  if (found != nullptr && found->state == "absent") return Seeing::kAbsent;
  std::string why = absent_text(look, source);
  if (why.empty()) why = "source " + std::string(source) + " is not readable";
  why = "Not seen: " + why;
  if (found != nullptr && !found->grant.empty()) {
    why += " (what would help: " + printable(found->grant, 300) + ")";
  }
  note(step, why + ".");
  raise(step, Verdict::kUnknown);
  return Seeing::kBlind;
}

Counted count_events(const Look& look, std::initializer_list<std::string_view> kinds) {
  Counted out;
  double of_probe = 0;
  for (const Sample& each : look.now.samples.family("jetmem_kernel_events_total")) {
    if (!is_one_of(each.label("kind"), kinds)) continue;
    (each.label("origin") == "probe" ? of_probe : out.total) += each.value;
  }
  for (const Sample& each :
       look.now.samples.family("jetmem_kernel_event_last_seen_timestamp_seconds")) {
    if (!is_one_of(each.label("kind"), kinds)) continue;
    if (!out.last || each.value > *out.last) out.last = each.value;
  }
  for (const Seen& each : look.found.events) {
    if (each.event->what != EventWhat::kKernel || each.event->origin == "probe") continue;
    if (!is_one_of(each.event->kind, kinds)) continue;
    out.recent += static_cast<double>(each.event->count);
    if (!out.last || each.time > *out.last) out.last = each.time;
  }
  out.from_probe_only = out.total == 0 && out.recent == 0 && of_probe > 0;
  if (out.total > 0 || out.recent > 0) {
    // Without a time it may have been a moment ago.
    out.is_recent = !out.last || look.found.now <= 0 || look.found.now - *out.last <= kRecent;
  }
  return out;
}

std::string counted_text(const Look& look, const Counted& counted) {
  std::string out = counted.at_least ? "at least " : "";
  if (counted.total > 0) {
    out += number(counted.total, 0) + " since boot";
  } else {
    out += number(counted.recent, 0) + " within the last day, before this boot or this log";
  }
  if (counted.last) {
    out += ", the last at " + moment(*counted.last, look.today());
    if (look.found.now > *counted.last) {
      out += " (" + span(look.found.now - *counted.last) + " ago)";
    }
  } else {
    out += ", when is not known";
  }
  return out;
}

void note_events(const Look& look, Step& step, std::initializer_list<std::string_view> kinds,
                 std::size_t most) {
  std::size_t n = 0;
  for (auto it = look.found.events.rbegin(); it != look.found.events.rend() && n < most; ++it) {
    if (it->event->what != EventWhat::kKernel || !is_one_of(it->event->kind, kinds)) continue;
    std::string text = moment(it->time, look.today()) + ": " + printable(it->event->summary, 300);
    if (it->event->count > 1) text += " (" + std::to_string(it->event->count) + " times)";
    note(step, text, it->time);
    ++n;
  }
  if (n > 0) return;
  // Those without a time, or of before the last day.
  for (const EventRecord& event : look.now.events) {
    if (n == most) return;
    if (event.what != EventWhat::kKernel || !is_one_of(event.kind, kinds)) continue;
    std::string when;
    std::optional<double> time;
    if (event.wall) {
      time = seconds_of(*event.wall);
      when = moment(*time, look.today()) + ": ";
    } else if (event.at) {
      when = span(seconds_of(*event.at)) + " after boot: ";
    }
    note(step, when + printable(event.summary, 300), time);
    ++n;
  }
}

}  // namespace jetmem::doctor
