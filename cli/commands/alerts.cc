// SPDX-License-Identifier: Apache-2.0
// jetmem alerts: what fires now, and what to do about it.

#include "cli/client/alerts_client.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/suggestion.h"
#include "cli/text/alerts_text.h"
#include "cli/text/events/event_text.h"

namespace jetmem {
namespace {

struct AlertsOptions : AlertsRequest {
  bool all = false;
};

int run_alerts(const AlertsOptions& options) {
  DeviceClient client("alerts", options);
  if (!client.settings()) return exit_code(client.settings().error().code);
  auto requested = request_alerts(options, client);
  if (!requested) return undecided("alerts", options, requested.error());
  for (const std::string& note : requested->notes) warn("alerts", note);
  if (!options.json) {
    for (AlertsAnswer::Rule& rule : requested->answer.rules) {
      rule.remedy = with_target(options, rule.remedy);
      for (auto& alert : rule.alerts) alert.remedy = with_target(options, alert.remedy);
    }
  }
  put(options.json ? alerts_json(requested->answer)
                   : alerts_text(requested->answer, {uses_color(), options.all, requested->from}));
  return alerts_status(requested->answer);
}

}  // namespace

void add_alerts_command(const Command& program) {
  const Command command =
      program.add("alerts", "Firing, pending and unknown alerts, and what to do about them");
  auto& options = command.runs(run_alerts);
  command.json("As JSON (docs/api.md), all rules");
  command.flag("--all", options.all, "Also inactive rules, with the value of each condition");
  command.device();
  command.footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then at the addresses of http.listen. If none "
      "answers, or with --root DIR, the rules are evaluated on one reading; rules that need "
      "history are unknown then. For a bundle, shows what jetmemd reported when it was captured.");
  command.exit_status(
      "0 if no warning fires and every rule was evaluated; 1 if a warning fires or a critical "
      "alert is pending (in a single reading: or a warning is pending); 2 if a critical alert "
      "fires; 3 if none of these and some rules are unknown (a source fails, a rule has an error, "
      "one reading was not enough, no answer). Rules that are not applicable here count as "
      "evaluated: --all lists them. Info alerts do not change it");
}

}  // namespace jetmem
