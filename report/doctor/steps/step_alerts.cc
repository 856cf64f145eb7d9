// SPDX-License-Identifier: Apache-2.0
// Alerts that no other step covers, such as those of local rules; and whether rules were evaluated.
#include <algorithm>

#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// Why the alerts are incomplete; empty: every rule was evaluated.
std::string gap(const DeviceView& view) {
  const auto& answer = view.now.alerts;
  // The daemon that recorded has evaluated them.
  if (view.found.alerts_recorded) return {};
  if (!answer) {
    return "No rules were evaluated" +
           (view.now.no_alerts.empty() ? std::string() : ": " + printable(view.now.no_alerts, 300));
  }
  if (answer->rules.empty()) return "There are no alert rules: nothing can fire";
  if (!answer->config_errors.empty()) {
    return "Some rules have configuration errors and are not evaluated: jetmem rules check";
  }
  const auto unknown = std::count_if(answer->rules.begin(), answer->rules.end(),
                                     [](const auto& rule) { return rule.state == "unknown"; });
  if (unknown == 0) return {};
  return std::to_string(unknown) + " of " +
         counted(static_cast<double>(answer->rules.size()), "rule", "rules") +
         (answer->local_snapshot ? " could not be evaluated from one reading: they need history"
                                 : " could not be evaluated: jetmem alerts shows why");
}

}  // namespace

void examine_alerts(const DeviceView& view, Step& step) {
  step.confirm = "jetmem alerts";
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (view.claimed != nullptr && view.claimed->count(name) != 0) return;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (view.now.alerts) {
    // The worst alert sets the summary.
    for (const std::string_view severity : {"critical", "warning", "info"}) {
      for (const AlertsAnswer::Rule& rule : view.now.alerts->rules) {
        if (rule.severity == severity) add(rule.name);
      }
    }
  }
  for (const EventRecord& each : view.found.alerts) add(each.subject);
  take_alerts(view, step, names);
  if (const std::string why = gap(view); !why.empty()) {
    note(step, why + ".");
    found(step, Verdict::kUnknown, why + ".");
    return;
  }
  conclude(step, "No other alert is firing, and every rule was evaluated.");
}

}  // namespace jetmem::doctor
