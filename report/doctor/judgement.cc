// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/judgement.h"

#include <algorithm>
#include <utility>

#include "base/json/fields.h"
#include "base/text/text.h"
#include "report/diagnosis/format.h"
#include "report/doctor/next_command.h"
#include "report/doctor/step.h"

namespace jetmem {
namespace {

using Step = DoctorAnswer::Step;

struct Gap {
  std::string why;  // the state is unknown; empty: it is known
  const char* command = "";
};

// Rules that wait for the first reading of a source, usually of the probes, are not blind yet; not
// where the source is skipped on purpose, nor for long.
bool waits(const DeviceNow& now, const AlertsAnswer::Rule& rule) {
  constexpr double kLongest = 1200;
  const auto evaluated = static_cast<double>(now.alerts->steps) * now.alerts->interval_seconds;
  if (evaluated > kLongest) return false;
  return std::any_of(now.sources.begin(), now.sources.end(), [&](const SourceNow& source) {
    return source.state == "pending" && source.skipped.empty() &&
           std::any_of(rule.conditions.begin(), rule.conditions.end(), [&](const auto& condition) {
             return condition.expression.find("jetmem_" + source.name + "_") != std::string::npos;
           });
  });
}

std::string rules_text(std::uint64_t some, const AlertsAnswer& alerts) {
  const std::uint64_t rules = alerts.rules.size() + alerts.rules_omitted;
  return std::to_string(some) + " of " +
         doctor::counted(static_cast<double>(rules), "rule", "rules");
}

std::uint64_t waiting_rules(const DeviceNow& now) {
  if (!now.alerts) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(now.alerts->rules.begin(), now.alerts->rules.end(),
                    [&](const auto& rule) { return rule.state == "unknown" && waits(now, rule); }));
}

Gap log_gap(const DeviceNow& now) {
  // Every Linux has one: absent, it is hidden, as in a container without /dev/kmsg.
  const SourceNow* const log = now.source("kernel_log");
  if (log == nullptr || (log->state != "absent" && log->state != "denied")) return {};
  return {"no problem known, but OOM kills and faults are not seen: " +
              now.absence_reason("kernel_log"),
          "sudo jetmem sources"};
}

// Why nobody can say that nothing is wrong.
Gap gap(const DeviceNow& now, const doctor::Findings& found) {
  if (now.samples.empty()) return {"this device could not be read", "sudo jetmem sources"};
  if (!now.samples.meminfo("MemTotal") || !now.samples.meminfo("MemAvailable")) {
    const std::string why = now.absence_reason("meminfo", "the kernel does not report it");
    return {"available memory is unknown: " + why, "sudo jetmem sources"};
  }
  // The daemon that recorded has evaluated them.
  if (found.alerts_recorded && now.by == SnapshotOrigin::kCapture) return log_gap(now);
  if (!now.alerts) {
    return {"alerts were not evaluated: " +
                (now.no_alerts.empty() ? std::string("no reason is known") : now.no_alerts),
            "jetmem rules check"};
  }
  if (now.alerts->rules.empty() && now.alerts->rules_omitted == 0) {
    return {"there are no alert rules: nothing can fire", "jetmem rules check"};
  }
  if (!now.alerts->config_errors.empty()) {
    return {"some rules have configuration errors and are not evaluated: jetmem rules check",
            "jetmem rules check"};
  }
  if (Gap log = log_gap(now); !log.why.empty()) return log;
  const std::uint64_t unknown = now.alerts->count("unknown");
  if (unknown > 0 && now.alerts->local_snapshot) {
    const bool is_live = now.by == SnapshotOrigin::kCommand;
    return {"no problem found, but " + rules_text(unknown, *now.alerts) +
                " could not be evaluated from one reading",
            is_live ? "systemctl status jetmemd" : "jetmem doctor"};
  }
  const std::uint64_t waiting = waiting_rules(now);
  if (unknown > waiting) {
    return {"no problem known, but " + rules_text(unknown - waiting, *now.alerts) +
                " could not be evaluated: jetmem alerts",
            "jetmem alerts"};
  }
  if (now.by == SnapshotOrigin::kCommand) {
    return {"no problem found, but jetmemd does not answer", "systemctl status jetmemd"};
  }
  return {};
}

struct Behind {
  const AlertsAnswer::Rule* rule = nullptr;
  const AlertsAnswer::Alert* alert = nullptr;
};

Behind find_alert(const DeviceNow& now, const DoctorAnswer::Alert& named) {
  if (!now.alerts) return {};
  for (const AlertsAnswer::Rule& rule : now.alerts->rules) {
    if (rule.name != named.alert) continue;
    for (const AlertsAnswer::Alert& alert : rule.alerts) {
      if (alert.state == named.state) return {&rule, &alert};
    }
  }
  return {};
}

// Names who is involved, where the sentence does not.
void add_who(Judgement& out, WhoFound found) {
  if (!found.who) {
    out.who_unknown = std::move(found.unknown);
    if (!out.who_unknown.empty()) {
      out.reason += "; " + out.who_unknown.substr(0, out.who_unknown.find(':'));
    }
    return;
  }
  if (out.reason.find(found.who->name) == std::string::npos) {
    out.reason += "; " + who_text(*found.who);
  }
  out.act = restart_command(*found.who);
  if (!out.act.empty() && found.who->role == "growing") {
    const bool is_ended = out.act.find(" kill ") != std::string::npos;
    out.remedy = (is_ended ? "End " : "Restart ") + found.who->name +
                 ": that gives back what it holds. Then find out why it grows.";
  }
  out.who = std::move(found.who);
}

std::string without_stop(std::string sentence) {
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

Judgement of_step(const DeviceNow& now, const doctor::Findings& found, const Step& step) {
  Judgement out;
  out.reason = without_stop(step.summary.empty() ? step.title : step.summary);
  out.found_by = step.name;
  out.cause = step.cause;
  out.remedy = step.remedy;
  out.next_command = command_in(step.remedy);
  if (out.next_command.empty()) out.next_command = "jetmem doctor --step " + step.name;
  // The first alert sets the summary, unless the step knows better.
  if (step.alerts.empty() || !step.summary.starts_with(step.alerts.front().summary)) return out;
  const DoctorAnswer::Alert& first = step.alerts.front();
  out.alert = first.alert;
  const Behind behind = find_alert(now, first);
  if (behind.alert == nullptr) {
    // The recorder knows that it fired.
    if (first.since && found.now > 0) out.since_seconds = found.now - *first.since;
    return out;
  }
  if (!now.alerts->local_snapshot) out.since_seconds = active_seconds(now, *behind.alert);
  add_who(out, who_of(*behind.rule, *behind.alert, now));
  return out;
}

// What the verdict is made of: alerts, and steps that found something without one.
void add_others(Judgement& out, std::span<const Step> steps) {
  std::uint64_t others = 0;
  for (const Step& step : steps) {
    if (step.verdict < Verdict::kWarning) continue;
    std::uint64_t alerts = 0;
    for (const DoctorAnswer::Alert& alert : step.alerts) {
      if (!alert.raises) continue;
      if (std::find(out.made_of.begin(), out.made_of.end(), alert.alert) != out.made_of.end())
        continue;
      if (alert.alert == out.alert) {
        out.made_of.insert(out.made_of.begin(), alert.alert);
      } else {
        out.made_of.push_back(alert.alert);
        ++alerts;
      }
    }
    others += alerts;
    if (step.name != out.found_by && alerts == 0) ++others;
  }
  if (others > 0) {
    out.reason += " (and " +
                  doctor::counted(static_cast<double>(others), "other finding", "other findings") +
                  ")";
  }
}

std::string nothing_wrong(const DeviceNow& now) {
  // Those for information, or for what somebody acknowledged, are no trouble.
  const std::uint64_t firing = now.alerts ? now.alerts->count_alerts("firing") : 0;
  const std::string fires =
      firing == 0 ? "no alert is firing"
                  : "nothing is wrong now; " +
                        doctor::counted(static_cast<double>(firing), "alert is", "alerts are") +
                        " firing for information, or acknowledged";
  std::string out = fires + "; all rules evaluated";
  if (!now.alerts) return out;
  const auto pending = static_cast<double>(now.alerts->count_alerts("pending"));
  const std::uint64_t waiting = waiting_rules(now);
  if (pending > 0) {
    out = fires + "; " + doctor::counted(pending, "alert is", "alerts are") + " pending";
  } else if (waiting > 0) {
    out = fires + "; " + rules_text(waiting, *now.alerts) + (waiting == 1 ? " waits" : " wait") +
          " for the first probe or reading";
  }
  return out;
}

}  // namespace

double active_seconds(const DeviceNow& now, const AlertsAnswer::Alert& alert) {
  const double evaluated = now.alerts->evaluated_since_boot;
  if (now.alerts->local_snapshot || evaluated <= 0) return alert.active_seconds;
  return alert.active_seconds + std::max(now.since_boot - evaluated, 0.0);
}

void describe(json::Fields& v, Judgement& judgement) {
  if (!v.word("level", judgement.level, verdict_name, verdict_named)) {
    v.fail("level", "must be one of ok, unknown, warning, critical");
  }
  v("reason", judgement.reason);
  v.unless_empty("step", judgement.found_by);
  v.unless_empty("alert", judgement.alert);
  v("since_seconds", judgement.since_seconds);
  v("who", judgement.who);
  v.unless_empty("who_unknown", judgement.who_unknown);
  v.unless_empty("cause", judgement.cause);
  v.unless_empty("remedy", judgement.remedy);
  v.unless_empty("act", judgement.act);
  v.unless_empty("next_command", judgement.next_command);
}

namespace doctor {

Judgement judge_steps(const DeviceNow& now, const Findings& found, std::span<const Step> steps) {
  Judgement out;
  if (!steps.empty() && steps.front().verdict >= Verdict::kWarning) {
    out = of_step(now, found, steps.front());
    out.level = steps.front().verdict;
    add_others(out, steps);
    return out;
  }
  if (Gap missing = gap(now, found); !missing.why.empty()) {
    out.reason = std::move(missing.why);
    out.next_command = missing.command;
    return out;
  }
  out.level = Verdict::kOk;
  out.reason = nothing_wrong(now);
  out.next_command = "jetmem --all";
  return out;
}

}  // namespace doctor
}  // namespace jetmem
