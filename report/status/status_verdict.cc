// SPDX-License-Identifier: Apache-2.0
#include "report/status/status_verdict.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "report/diagnosis/format.h"
#include "report/status/next_command.h"

namespace jetmem {
namespace {

using Answer = StatusAnswer;

std::string count_of(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// A pending critical alert does: what it waits for may be over before it fires.
bool raises(const Answer::Alert& alert, bool local_snapshot) {
  const bool critical = alert.severity == "critical";
  if (!critical && alert.severity != "warning") return false;
  return alert.state == "firing" || critical || local_snapshot;
}

// Of what jetmem itself may read. A command without jetmemd has rights of its own, which are no
// fault of the device.
bool is_about_sources(const DeviceNow& now, const Answer::Alert& alert) {
  const auto& rules = now.alerts->rules;
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const auto& each) { return each.name == alert.name; });
  return rule != rules.end() &&
         std::all_of(rule->conditions.begin(), rule->conditions.end(), [](const auto& condition) {
           return condition.expression.find("jetmem_source_") != std::string::npos;
         });
}

void set(Answer& answer, StatusLevel level, std::string reason) {
  answer.level = level;
  answer.reason = std::move(reason);
}

const Answer::Blind* broken_source(const Answer& answer) {
  for (const Answer::Blind& blind : answer.blind) {
    if (blind.state == "failed" || blind.state == "stale") return &blind;
  }
  return nullptr;
}

struct Gap {
  std::string why;  // the state is unknown; empty: it is known
  const char* command = "";
};

Gap gap(const Answer& answer, const DeviceNow& now) {
  if (now.samples.empty()) return {"this device could not be read", "sudo jetmem sources"};
  if (!answer.mem_total_bytes || !answer.available_bytes) {
    return {"available memory is unknown: " + absence_reason(answer.absent, "available_bytes"),
            "sudo jetmem sources"};
  }
  if (!answer.unknown) {
    return {"alerts were not evaluated: " + absence_reason(answer.absent, "alerts"),
            "jetmem rules check"};
  }
  if (answer.rules == 0) {
    return {"there are no alert rules: nothing can fire", "jetmem rules check"};
  }
  if (!now.alerts->config_errors.empty()) {
    return {"some rules have configuration errors and are not evaluated: jetmem rules check",
            "jetmem rules check"};
  }
  const std::string of = std::to_string(*answer.unknown) + " of " +
                         count_of(answer.rules, "rule", "rules") + " could not be evaluated";
  if (*answer.unknown > 0 && now.alerts->local_snapshot) {
    const bool is_live = now.by == SnapshotOrigin::kCommand;
    return {"no problem found, but " + of + " from one reading",
            is_live ? "systemctl status jetmemd" : "jetmem doctor"};
  }
  if (*answer.unknown > 0) {
    return {"no problem known, but " + of + ": jetmem alerts", "jetmem alerts"};
  }
  // Every Linux has one: here it is hidden, as in a container without /dev/kmsg.
  const SourceNow* const log = now.source("kernel_log");
  if (log != nullptr && log->state == "absent") {
    return {"no problem known, but OOM kills and faults are not seen: " +
                now.absence_reason("kernel_log"),
            "sudo jetmem sources"};
  }
  if (now.by == SnapshotOrigin::kCommand) {
    return {"no problem found, but jetmemd does not answer", "systemctl status jetmemd"};
  }
  return {};
}

// Names who is behind it, where the sentence does not.
void add_culprit(Answer& answer, const DeviceNow& now, const Answer::Alert& worst,
                 std::string& reason) {
  const auto rule = std::find_if(now.alerts->rules.begin(), now.alerts->rules.end(),
                                 [&](const auto& each) { return each.name == worst.name; });
  if (rule == now.alerts->rules.end()) return;
  const auto alert = std::find_if(rule->alerts.begin(), rule->alerts.end(),
                                  [&](const auto& each) { return each.state == worst.state; });
  if (alert == rule->alerts.end()) return;
  Suspect found = suspect_of(*rule, *alert, now);
  if (!found.culprit) {
    if (found.unknown.empty()) return;
    explain(answer.absent, "culprit", std::nullopt, found.unknown);
    reason += "; " + found.unknown.substr(0, found.unknown.find(':'));
    return;
  }
  if (reason.find(found.culprit->name) == std::string::npos) {
    reason += "; " + culprit_text(*found.culprit);
  }
  answer.culprit = std::move(found.culprit);
}

}  // namespace

std::string_view status_level_name(StatusLevel level) {
  constexpr std::array<std::string_view, 4> kNames{"ok", "warning", "critical", "unknown"};
  return kNames[static_cast<std::size_t>(level)];
}

void set_verdict(StatusAnswer& answer, const DeviceNow& now) {
  const bool local_snapshot = now.alerts && now.alerts->local_snapshot;
  const bool is_alone = local_snapshot && now.by == SnapshotOrigin::kCommand;
  const Answer::Alert* worst = nullptr;
  std::uint64_t others = 0;
  for (Answer::Alert& alert : answer.alerts) {
    alert.explains = raises(alert, local_snapshot) && !(is_alone && is_about_sources(now, alert));
    if (!alert.explains) continue;
    if (worst == nullptr) {
      worst = &alert;
    } else {
      ++others;
    }
  }
  if (worst != nullptr) {
    // A single reading cannot know that the condition lasts: a warning at most. So is one that
    // still has to last.
    const bool critical = worst->severity == "critical" && worst->state == "firing";
    std::string reason = worst->summary.empty() ? worst->name : worst->summary;
    if (worst->state == "pending" && !local_snapshot) reason += " (pending)";
    add_culprit(answer, now, *worst, reason);
    if (others > 0) reason += " (and " + count_of(others, "other alert", "other alerts") + ")";
    if (!local_snapshot) answer.since_seconds = worst->active_seconds;
    answer.next_command = command_in(worst->remedy);
    if (answer.next_command.empty()) answer.next_command = "jetmem doctor";
    return set(answer, critical ? StatusLevel::kCritical : StatusLevel::kWarning,
               std::move(reason));
  }
  if (now.samples.value("jetmem_sampling_stalled").value_or(0) > 0) {
    answer.next_command = "journalctl -u jetmemd -n 50";
    return set(answer, StatusLevel::kWarning, "jetmemd has stopped sampling");
  }
  // Without an error it has only just started.
  if (answer.from.by == "daemon" && answer.history_up && *answer.history_up <= 0 &&
      now.samples.sum("jetmem_history_errors_total").value_or(1) > 0) {
    answer.next_command = "jetmem doctor --step daemon";
    return set(answer, StatusLevel::kWarning,
               "jetmemd cannot write its history: it is only in memory");
  }
  if (const Answer::Blind* blind = broken_source(answer); blind != nullptr && !is_alone) {
    answer.next_command = "sudo jetmem sources";
    return set(answer, StatusLevel::kWarning,
               "source " + blind->source + " is " + blind->state +
                   (blind->why.empty() ? "" : ": " + blind->why));
  }
  if (Gap missing = gap(answer, now); !missing.why.empty()) {
    answer.next_command = missing.command;
    return set(answer, StatusLevel::kUnknown, std::move(missing.why));
  }
  answer.next_command = "jetmem --all";
  std::string reason = "no alert is firing; all rules evaluated";
  if (answer.pending.value_or(0) > 0) {
    reason =
        "no alert is firing; " + count_of(*answer.pending, "alert is", "alerts are") + " pending";
  }
  set(answer, StatusLevel::kOk, std::move(reason));
}

}  // namespace jetmem
