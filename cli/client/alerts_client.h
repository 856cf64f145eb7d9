// SPDX-License-Identifier: Apache-2.0
// Alerts: from the daemon if one answers, else evaluated now.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/client/rule_input.h"
#include "config/settings.h"
#include "report/alerts/alerts.h"
#include "rules/model/rules.h"

namespace jetmem {

// Below a root: as evaluated at its capture, else now.
struct AlertsRequest : Target {
  NamedRules rules;  // evaluated now, where there are paths
};

struct AlertsReply {
  AlertsAnswer answer;
  std::string from;                // "unix:/run/jetmem/api.socket"; empty: evaluated now
  std::vector<std::string> notes;  // for a person; also that no daemon answers
};

// Errors: the daemon that was named does not answer; the root cannot be read.
Result<AlertsReply> request_alerts(const AlertsRequest& needed, DeviceClient& client);

// The alerts of a capture: a bundle holds jetmemd's own answer, which is returned unchanged. One
// captured reading could not give alerts that need history or the site's rules.

// Below `root`, jetmemd's answer at that time; if there is none or it is damaged (which `notes`
// reports), the reading evaluated by the captured rules, or by those in force here. An empty root
// is this machine, evaluated now.
AlertsAnswer captured_or_evaluated(const std::string& root, const LocalSnapshot& shot,
                                   const RulesSettings& settings, std::vector<std::string>& notes);

// Evaluates the rules on one reading, without a daemon. Rules that need history are unknown, never
// inactive.

AlertsAnswer evaluate_now(const LocalSnapshot& shot, ParsedRules rules,
                          const RulesSettings& settings);

}  // namespace jetmem
