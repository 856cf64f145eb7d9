// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alerts_now.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "report/alerts/alert_order.h"
#include "rules/export/condition_text.h"
#include "rules/export/promql.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxConfigErrors = 100;
// For all rules together; further ones are counted.
constexpr std::size_t kMaxAlerts = 256;

void put_conditions(const Rule& rule, const std::vector<RuleEngine::Seen>& seen,
                    AlertsAnswer::Rule& out) {
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    const Condition& condition = rule.when[c];
    AlertsAnswer::Condition& to = out.conditions.emplace_back();
    to.text = condition_text(condition);
    to.expression = promql_value(condition);
    if (condition.comparison) {
      to.comparison = comparison_name(*condition.comparison);
      to.threshold = condition.threshold.value;
    }
    to.series = seen[c].series;
    to.holding = seen[c].holding;
    to.worst = seen[c].worst;
    if (to.worst) {
      to.shown = show_value(*to.worst, value_unit(condition));
      to.labels = *seen[c].worst_labels;
    }
  }
}

void put_no_series(const Rule& rule, AlertsAnswer::Rule& out) {
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    if (out.conditions[c].series > 0 || rule.when[c].function == Function::kAbsent) continue;
    const std::string& expression = out.conditions[c].expression;
    if (std::find(out.no_series.begin(), out.no_series.end(), expression) == out.no_series.end()) {
      out.no_series.push_back(expression);
    }
  }
}

AlertsAnswer::Alert alert_of(const AlertsNow& now, const Rule& rule,
                             const RuleEngine::Instance& instance) {
  AlertsAnswer::Alert to;
  to.labels = *instance.labels;
  const ValueUnit unit = value_unit(rule.when.front());
  to.state = alert_state_name(instance.state);
  to.value = instance.value;
  to.shown = show_value(instance.value, unit);
  to.active_seconds = to_seconds(now.evaluated - instance.active_since);
  if (instance.state == AlertState::kFiring) {
    to.firing_seconds = to_seconds(now.evaluated - instance.firing_since);
  }
  to.kept = instance.ended.has_value();
  const auto filled = [&](const std::string& text) {
    // A label that is not there may leave a blank at the end.
    return std::string(trim(fill_text(text, instance.value, unit, to.labels)));
  };
  to.summary = filled(rule.texts.summary);
  to.cause = filled(rule.texts.cause);
  to.remedy = filled(rule.texts.remedy);
  return to;
}

// Where there are too many, those that fire stay.
void put_alerts(const AlertsNow& now, AlertsAnswer& out) {
  std::size_t count = 0;
  const auto has_room = [&] {
    if (count++ < kMaxAlerts) return true;
    ++out.alerts_omitted;
    return false;
  };
  for (const AlertState state : {AlertState::kFiring, AlertState::kPending}) {
    for (std::size_t r = 0; r < out.rules.size(); ++r) {
      for (const RuleEngine::Instance& instance : now.evaluations[r].instances) {
        if (instance.state != state || !has_room()) continue;
        out.rules[r].alerts.push_back(alert_of(now, now.texts->rules.rules[r], instance));
      }
    }
  }
  for (std::size_t r = 0; r < out.rules.size(); ++r) {
    for (const RuleEngine::Unknown& unknown : now.evaluations[r].unknown) {
      if (unknown.is_pending_again || !has_room()) continue;
      AlertsAnswer::Alert& to = out.rules[r].alerts.emplace_back();
      to.labels = *unknown.labels;
      to.state = "unknown";
    }
  }
}

// Those that fire first; of these the one furthest beyond the threshold: whoever shows one shows
// it.
void sort_alerts(AlertsAnswer::Rule& rule) {
  if (rule.conditions.empty()) return;
  const bool is_below = rule.conditions.front().comparison.starts_with("below") ||
                        rule.conditions.front().comparison == "at_most";
  const auto key = [&](const AlertsAnswer::Alert& alert) {
    const double value = alert.value.value_or(0);
    return std::tuple(alert.state != "firing", alert.kept, is_below ? value : -value);
  };
  std::stable_sort(rule.alerts.begin(), rule.alerts.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace

AlertsNow take_alerts(const RuleEngine& engine, std::shared_ptr<const AlertsTexts> texts,
                      Nanoseconds wall_offset) {
  AlertsNow out;
  out.texts = std::move(texts);
  out.evaluated = engine.last_step();
  out.wall_offset = wall_offset;
  out.steps = engine.steps();
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    out.evaluations.push_back(engine.evaluated(r));
  }
  return out;
}

AlertsAnswer alerts_answer(const AlertsNow& now) {
  const AlertsTexts& texts = *now.texts;
  AlertsAnswer out;
  out.evaluated_since_boot = to_seconds(now.evaluated);
  const Nanoseconds wall = now.evaluated + now.wall_offset;
  if (wall >= kFirstPlausibleTime) out.evaluated_wall = to_seconds(wall);
  out.interval_seconds = to_seconds(texts.interval);
  out.steps = now.steps;
  for (const ConfigError& error : texts.config_errors) {
    if (out.config_errors.size() == kMaxConfigErrors) {
      ++out.config_errors_omitted;
      continue;
    }
    out.config_errors.push_back({printable(error.file, 4096),
                                 static_cast<std::uint64_t>(error.line),
                                 static_cast<std::uint64_t>(error.column), error.message});
  }
  for (std::size_t r = 0; r < texts.rules.rules.size(); ++r) {
    const Rule& rule = texts.rules.rules[r];
    const RuleEngine::Evaluation& found = now.evaluations[r];
    AlertsAnswer::Rule& to = out.rules.emplace_back();
    to.name = rule.name;
    to.severity = severity_name(rule.severity);
    to.inhibited = found.inhibited;
    to.unless = rule.unless;
    to.blind = printable(found.blind);
    to.hold_seconds = to_seconds(rule.hold);
    to.keep_firing_seconds = to_seconds(rule.keep_firing_for);
    to.summary = rule.texts.summary;
    to.cause = rule.texts.cause;
    to.remedy = rule.texts.remedy;
    to.runbook = runbook_page(texts.runbooks, rule);
    to.dropped = found.dropped;
    put_conditions(rule, found.conditions, to);
    const AlertState state = found.state();
    const bool is_unknown =
        state == AlertState::kInactive && (found.has_unknown() || !found.blind.empty());
    to.state = is_unknown ? "unknown" : alert_state_name(state);
    if (to.state == "inactive") put_no_series(rule, to);
  }
  put_alerts(now, out);
  for (AlertsAnswer::Rule& rule : out.rules) sort_alerts(rule);
  sort_rules(out);
  return out;
}

void sort_rules(AlertsAnswer& answer) {
  const auto rank = [](const AlertsAnswer::Rule& rule) {
    return AlertRank{rule.state, rule.severity, rule.name};
  };
  std::stable_sort(answer.rules.begin(), answer.rules.end(),
                   [&](const auto& a, const auto& b) { return comes_before(rank(a), rank(b)); });
}

}  // namespace jetmem
