// What the rules found: from the daemon when one answers, else judged now.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/daemon_place.h"
#include "cli/one_shot.h"
#include "cli/rule_input.h"
#include "config/rules.h"
#include "config/settings.h"
#include "report/alerts.h"

namespace jetmem {

struct AlertsWanted {
  std::string root;     // as judged at its capture, else now; empty: the daemon is asked
  std::string daemon;   // asked and nobody else; empty: where it usually is
  ClientAccess access;  // to it
  std::vector<std::string> config;  // settings files
  NamedRules rules;                 // judged now, where there are paths
};

struct AlertsAsked {
  AlertsAnswer answer;
  std::string json;                // of the answer
  std::string from;                // "unix:/run/jetmem/api.socket"; empty: judged now
  std::string why_not_asked;       // of the daemon, where it was tried; empty otherwise
  std::vector<std::string> notes;  // for a person
};

// Errors: the daemon that was named does not answer; the root cannot be read.
Result<AlertsAsked> ask_for_alerts(const AlertsWanted& wanted, const Settings& settings);

}  // namespace jetmem
