// SPDX-License-Identifier: Apache-2.0
// What the rules found, for programs and people: the answer of /api/v1/alerts and of
// `jetmem alerts --json`, typed. docs/api.md has its JSON form field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace json {
class Fields;
}

struct AlertsAnswer {
  static constexpr std::string_view kSchema = "jetmem-alerts/1";

  struct Alert {
    std::string state;  // "pending", "firing", or "unknown": it ended because its source went blind
    Labels labels;
    // Not of an unknown one.
    std::optional<double> value;
    std::string shown;          // "97%"
    double active_seconds = 0;  // for how long its conditions have held
    std::optional<double> firing_seconds;
    bool kept = false;  // they no longer hold: keep_firing_for
    std::string summary;
    std::string cause;
    std::string remedy;
  };

  struct Condition {
    std::string text;        // "jetmem_cma_used_ratio is at least 95% (cma_used_high)"
    std::string expression;  // its value in PromQL, without the comparison
    std::string comparison;  // "above", "at_least", ...; empty: none (absent(...))
    std::optional<double> threshold;
    std::uint64_t series = 0;
    std::uint64_t holding = 0;
    // The value nearest to the threshold or furthest beyond it.
    std::optional<double> worst;
    std::string shown;
    Labels labels;
  };

  struct Rule {
    std::string name;
    std::string severity;
    std::string state;  // "inactive", "pending", "firing", "unknown"
    bool inhibited = false;
    std::vector<std::string> unless;
    std::string blind;          // why its state is unknown; empty: it is known
    std::string needs_history;  // what one look cannot tell; empty: nothing
    // For an inactive one, what its conditions query and has no series now
    // (Condition::expression), so that it cannot fire. Usually the device has no such hardware.
    std::vector<std::string> no_series;
    double hold_seconds = 0;
    double keep_firing_seconds = 0;
    std::string summary;  // as written, with {{ value }}
    std::string cause;
    std::string remedy;
    std::string runbook;  // the file; empty: none
    std::vector<Condition> conditions;
    std::vector<Alert> alerts;
    std::uint64_t dropped = 0;  // alerts not followed, as there were too many
  };

  struct RuleConfigError {
    std::string file;
    std::uint64_t line = 0;  // 0: the file as a whole
    std::uint64_t column = 0;
    std::string message;
  };

  bool local_snapshot = false;           // judged by a command from one reading, not by the daemon
  double evaluated_since_boot = 0;       // seconds
  std::optional<double> evaluated_wall;  // seconds since 1970, where the clock is plausible
  double interval_seconds = 0;
  std::uint64_t steps = 0;
  std::vector<Rule> rules;  // those that fire first, then pending, ...: alert_order.h
  std::vector<RuleConfigError> config_errors;
  std::uint64_t config_errors_omitted = 0;
  std::uint64_t alerts_omitted = 0;
  std::uint64_t rules_omitted = 0;

  std::uint64_t count(std::string_view state) const;  // rules in this state
  std::uint64_t count_alerts(std::string_view state) const;
  std::uint64_t count_without_series() const;         // of the inactive ones
};

// The most that a client accepts: further rules are omitted and counted.
constexpr std::size_t kMaxAlertsJson = 4U << 20;

void describe(json::Fields& v, AlertsAnswer& answer);
// Pretty-printed, with a newline at its end.
std::string alerts_json(const AlertsAnswer& answer);

// An answer without the states of rules and alerts is refused, never taken for quiet.
Result<AlertsAnswer> parse_alerts(std::string_view json);

}  // namespace jetmem
