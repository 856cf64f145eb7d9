// SPDX-License-Identifier: Apache-2.0
// The result of one evaluation, passed from the daemon's loop to the web thread: a copy of what the
// engine found, and texts that only change with the rules. The answer is made from it on request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/files.h"
#include "report/alerts/alerts.h"
#include "rules/engine/engine.h"

namespace jetmem {

struct AlertsTexts {
  RuleSet rules;
  std::vector<ConfigError> config_errors;
  std::chrono::milliseconds interval{0};
  std::string runbooks;  // the directory
};

struct AlertsNow {
  std::shared_ptr<const AlertsTexts> texts;  // null: not evaluated yet
  Nanoseconds evaluated{0};                  // boot clock
  Nanoseconds wall_offset{0};                // wall clock less boot clock then
  std::uint64_t steps = 0;
  std::vector<RuleEngine::Evaluation> evaluations;  // by rule
};

// `texts` are of the engine's rules.
AlertsNow take_alerts(const RuleEngine& engine, std::shared_ptr<const AlertsTexts> texts,
                      Nanoseconds wall_offset);

// The rules must have been evaluated.
AlertsAnswer alerts_answer(const AlertsNow& now);

// As alert_order.h has it.
void sort_rules(AlertsAnswer& answer);

}  // namespace jetmem
