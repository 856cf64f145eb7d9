// SPDX-License-Identifier: Apache-2.0
// The result of one evaluation, passed from the daemon's loop to the web thread: numbers and
// labels, and texts that only change with the rules. The answer is made from it on request.
#pragma once

#include <memory>
#include <optional>
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
  // For all rules together; further ones are counted.
  static constexpr std::size_t kMaxAlerts = 256;

  struct Rule {
    AlertState state = AlertState::kInactive;
    bool inhibited = false;
    std::string blind;
    std::uint64_t dropped = 0;
  };
  struct Condition {
    std::uint64_t series = 0;
    std::uint64_t holding = 0;
    std::optional<double> worst;
    Labels labels;
  };
  struct Alert {
    std::size_t rule = 0;
    std::optional<RuleEngine::Instance> instance;  // absent: unknown
    Labels labels;
  };

  std::shared_ptr<const AlertsTexts> texts;  // null: not evaluated yet
  Nanoseconds evaluated{0};                  // boot clock
  Nanoseconds wall_offset{0};                // wall clock less boot clock then
  std::uint64_t steps = 0;
  std::vector<Rule> rules;
  std::vector<Condition> conditions;  // of all rules, in order
  std::vector<Alert> alerts;
  std::uint64_t alerts_omitted = 0;
};

// `texts` are of the engine's rules.
AlertsNow take_alerts(const RuleEngine& engine, std::shared_ptr<const AlertsTexts> texts,
                      Nanoseconds wall_offset);

// The rules must have been evaluated.
AlertsAnswer alerts_answer(const AlertsNow& now);

// As alert_order.h has it.
void sort_rules(AlertsAnswer& answer);

}  // namespace jetmem
