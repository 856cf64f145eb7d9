// Alerts that no other step speaks of, a person's own rules above all; and whether what fires is
// known at all.
#include <algorithm>

#include "base/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// What the rules cannot tell; empty: each was judged. As report/answers/status_verdict.h has it.
std::string gap(const Look& look) {
  const auto& answer = look.now.alerts;
  // The daemon that recorded has judged them, and what fired is in the record.
  if (look.found.alerts_recorded) return {};
  if (!answer) {
    return "No rules were judged" +
           (look.now.no_alerts.empty() ? std::string() : ": " + printable(look.now.no_alerts, 300));
  }
  if (answer->rules.empty()) return "There are no rules: nothing would ever be told";
  if (!answer->mistakes.empty()) {
    return "The rules have mistakes, so not all that was written is judged: jetmem rules check";
  }
  const auto unknown = std::count_if(answer->rules.begin(), answer->rules.end(),
                                     [](const auto& rule) { return rule.state == "unknown"; });
  if (unknown == 0) return {};
  return std::to_string(unknown) + " of " +
         counted(static_cast<double>(answer->rules.size()), "rule", "rules") +
         (answer->one_look ? " could not be judged from one look: they need a past"
                           : " could not be judged: jetmem alerts says why");
}

}  // namespace

void examine_alerts(const Look& look, Step& step) {
  step.confirm = "jetmem alerts";
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (look.claimed != nullptr && look.claimed->count(name) != 0) return;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (look.now.alerts) {
    // The worst decides what is concluded.
    for (const std::string_view severity : {"critical", "warning", "info"}) {
      for (const AlertsAnswer::Rule& rule : look.now.alerts->rules) {
        if (rule.severity == severity) add(rule.name);
      }
    }
  }
  for (const EventRecord& each : look.found.alerts) add(each.subject);
  take_alerts(look, step, names);
  if (const std::string why = gap(look); !why.empty()) {
    raise(step, Verdict::kUnknown);
    note(step, why + ".");
    conclude(step, why + ".");
    return;
  }
  conclude(step, "No other alert fires, and every rule was judged.");
}

}  // namespace jetmem::doctor
