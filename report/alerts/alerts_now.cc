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

void add_alert(AlertsNow& out, AlertsNow::Alert alert) {
  if (out.alerts.size() == AlertsNow::kMaxAlerts) {
    ++out.alerts_omitted;
  } else {
    out.alerts.push_back(std::move(alert));
  }
}

double seconds_of(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

void put_conditions(const Rule& rule, const AlertsNow::Condition* found, AlertsAnswer::Rule& out) {
  for (const Condition& condition : rule.when) {
    AlertsAnswer::Condition& to = out.conditions.emplace_back();
    to.text = condition_text(condition);
    to.expression = promql_value(condition);
    if (condition.comparison) {
      to.comparison = comparison_name(*condition.comparison);
      to.threshold = condition.threshold.value;
    }
    to.series = found->series;
    to.holding = found->holding;
    to.worst = found->worst;
    if (found->worst) {
      to.shown = show_value(*found->worst, value_unit(condition));
      to.labels = found->labels;
    }
    ++found;
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

void put_alert(const AlertsNow& now, const Rule& rule, const AlertsNow::Alert& found,
               AlertsAnswer::Rule& out) {
  AlertsAnswer::Alert& to = out.alerts.emplace_back();
  to.labels = found.labels;
  if (!found.instance) {
    to.state = "unknown";
    return;
  }
  const RuleEngine::Instance& instance = *found.instance;
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
    return std::string(trim(fill_text(text, instance.value, unit, found.labels)));
  };
  to.summary = filled(rule.texts.summary);
  to.cause = filled(rule.texts.cause);
  to.remedy = filled(rule.texts.remedy);
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
  const std::size_t n = engine.rules().rules.size();
  for (std::size_t r = 0; r < n; ++r) {
    const RuleEngine::Evaluation& evaluated = engine.evaluated(r);
    out.rules.push_back(
        {evaluated.state(), evaluated.inhibited, std::string(evaluated.blind), evaluated.dropped});
    for (const RuleEngine::Seen& seen : evaluated.conditions) {
      out.conditions.push_back(
          {seen.series, seen.holding, seen.worst, seen.worst ? *seen.worst_labels : Labels()});
    }
  }
  // Where there are too many, those that fire stay.
  for (const AlertState state : {AlertState::kFiring, AlertState::kPending}) {
    for (std::size_t r = 0; r < n; ++r) {
      for (const RuleEngine::Instance& instance : engine.evaluated(r).instances) {
        if (instance.state == state) add_alert(out, {r, instance, *instance.labels});
      }
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (const RuleEngine::Unknown& unknown : engine.evaluated(r).unknown) {
      if (!unknown.is_pending_again) add_alert(out, {r, std::nullopt, *unknown.labels});
    }
  }
  return out;
}

AlertsAnswer alerts_answer(const AlertsNow& now) {
  const AlertsTexts& texts = *now.texts;
  AlertsAnswer out;
  out.evaluated_since_boot = to_seconds(now.evaluated);
  const Nanoseconds wall = now.evaluated + now.wall_offset;
  if (wall >= kFirstPlausibleTime) out.evaluated_wall = to_seconds(wall);
  out.interval_seconds = seconds_of(texts.interval);
  out.steps = now.steps;
  out.alerts_omitted = now.alerts_omitted;
  for (const ConfigError& error : texts.config_errors) {
    if (out.config_errors.size() == kMaxConfigErrors) {
      ++out.config_errors_omitted;
      continue;
    }
    out.config_errors.push_back({printable(error.file, 4096),
                                 static_cast<std::uint64_t>(error.line),
                                 static_cast<std::uint64_t>(error.column), error.message});
  }
  const AlertsNow::Condition* condition = now.conditions.data();
  for (std::size_t r = 0; r < texts.rules.rules.size(); ++r) {
    const Rule& rule = texts.rules.rules[r];
    const AlertsNow::Rule& found = now.rules[r];
    AlertsAnswer::Rule& to = out.rules.emplace_back();
    to.name = rule.name;
    to.severity = severity_name(rule.severity);
    to.inhibited = found.inhibited;
    to.unless = rule.unless;
    to.blind = printable(found.blind);
    to.hold_seconds = seconds_of(rule.hold);
    to.keep_firing_seconds = seconds_of(rule.keep_firing_for);
    to.summary = rule.texts.summary;
    to.cause = rule.texts.cause;
    to.remedy = rule.texts.remedy;
    to.runbook = runbook_page(texts.runbooks, rule);
    to.dropped = found.dropped;
    put_conditions(rule, condition, to);
    condition += rule.when.size();
    bool was_blinded = false;
    for (const AlertsNow::Alert& alert : now.alerts) {
      if (alert.rule != r) continue;
      put_alert(now, rule, alert, to);
      was_blinded |= !alert.instance;
    }
    sort_alerts(to);
    const bool is_unknown =
        found.state == AlertState::kInactive && (was_blinded || !found.blind.empty());
    to.state = is_unknown ? "unknown" : alert_state_name(found.state);
    if (to.state == "inactive") put_no_series(rule, to);
  }
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
