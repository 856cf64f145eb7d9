// What a step of judgement found, as the daemon's loop hands it to the web thread: numbers and
// labels, beside texts that only change with the rules. Taking it allocates nothing while nothing
// changed; the answer is made of it when somebody asks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/files.h"
#include "health/rules/engine.h"
#include "report/alerts.h"

namespace jetmem {

struct AlertsTexts {
  RuleSet rules;
  std::vector<ConfigError> mistakes;
  std::chrono::milliseconds interval{0};
  std::string runbooks;  // the directory
};

struct AlertsNow {
  // Of all rules together; further ones are counted.
  static constexpr std::size_t kMaxAlerts = 256;

  struct Rule {
    AlertState state = AlertState::kInactive;
    bool silenced = false;
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
    bool is_unknown = false;
    RuleEngine::Instance instance;
    Labels labels;
  };

  std::shared_ptr<const AlertsTexts> texts;  // null: nothing was judged yet
  Nanoseconds judged{0};                     // boot clock
  Nanoseconds wall_offset{0};                // wall clock less boot clock then
  std::uint64_t steps = 0;
  std::vector<Rule> rules;
  std::vector<Condition> conditions;  // of all rules, in order
  std::vector<Alert> alerts;          // the first alert_count are in use
  std::size_t alert_count = 0;
  std::uint64_t alerts_left_out = 0;
};

// `texts` are of the engine's rules.
void take_alerts(const RuleEngine& engine, const std::shared_ptr<const AlertsTexts>& texts,
                 Nanoseconds wall_offset, AlertsNow& out);

// Something must have been judged.
AlertsAnswer alerts_answer(const AlertsNow& now);

// Rules that fire first, then pending, unknown, inactive; each in their order.
void sort_by_state(AlertsAnswer& answer);

}  // namespace jetmem
