// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alerts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/json/fields.h"
#include "base/text/text.h"
#include "base/text/utc_time.h"

namespace jetmem {
namespace {

using json::Fields;

// The rest is for errors of the configuration and, in /api/v1/now, for samples and events.
constexpr std::size_t kMaxRulesJson = kMaxAlertsJson / 2;

constexpr std::array<std::string_view, 4> kRuleStates{"firing", "pending", "unknown", "inactive"};
constexpr std::span kAlertStates = std::span(kRuleStates).first(3);
constexpr std::array<std::string_view, 3> kSeverityNames{"info", "warning", "critical"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void required_word(Fields& v, const char* key, std::string& word,
                   std::span<const std::string_view> words) {
  v.required_text(key, word);
  if (!is_one_of(word, words)) v.fail(key, "must not be '" + printable(word, 60) + "'");
}

// A word that only a newer jetmem knows is replaced by the worst, counted, and returned.
std::string word_or(Fields& v, const char* key, std::string& word,
                    std::span<const std::string_view> words, std::string_view otherwise) {
  v.required_text(key, word);
  if (!v.reading() || word.empty() || is_one_of(word, words)) return {};
  v.count_newer();
  return std::exchange(word, otherwise);
}

std::string time_of(const AlertsAnswer& answer, double seconds_ago) {
  const auto wall = wall_of(answer.evaluated_wall.value_or(NAN) - seconds_ago);
  return wall ? utc_time(std::chrono::round<std::chrono::milliseconds>(*wall)) : std::string();
}

// JSON has no infinity and no NaN; the text beside it shows them.
void value_with_text(Fields& v, std::optional<double>& value, std::string& text) {
  v.null_if_absent("value", value);
  v.null_if_empty("value_text", text);
  if (v.reading() && !value && !text.empty()) value = std::nan("");
}

// A rule's state must be at least as bad as its alerts'.
bool contradicts(const AlertsAnswer::Rule& rule) {
  const auto has = [&](std::string_view state) {
    return std::any_of(rule.alerts.begin(), rule.alerts.end(),
                       [&](const AlertsAnswer::Alert& alert) { return alert.state == state; });
  };
  if (has("firing")) return rule.state != "firing";
  return rule.state == "inactive" && !rule.alerts.empty();
}

void describe(Fields& v, AlertsAnswer::Alert& alert, const AlertsAnswer& answer) {
  const bool is_unknown = alert.state == "unknown";
  required_word(v, "state", alert.state, kAlertStates);
  v("labels", alert.labels);
  value_with_text(v, alert.value, alert.shown);
  std::string since = is_unknown ? "" : time_of(answer, alert.active_seconds);
  v.null_if_empty("active_since", since);
  std::optional<double> active = alert.active_seconds;
  if (is_unknown || v.reading()) active.reset();
  v.null_if_absent("active_seconds", active);
  if (v.reading()) alert.active_seconds = active.value_or(0);
  since = alert.firing_seconds ? time_of(answer, *alert.firing_seconds) : "";
  v.null_if_empty("firing_since", since);
  v.null_if_absent("firing_seconds", alert.firing_seconds);
  v("keep_firing", alert.kept);
  v("summary", alert.summary);
  v("cause", alert.cause);
  v("remedy", alert.remedy);
}

}  // namespace

void describe(Fields& v, AlertsAnswer::Condition& condition) {
  v("text", condition.text);
  v("expression", condition.expression);
  v.unless_empty("comparison", condition.comparison);
  v("threshold", condition.threshold);
  v("series", condition.series);
  v("matching", condition.holding);
  const auto worst = [&](Fields& w) {
    value_with_text(w, condition.worst, condition.shown);
    w("labels", condition.labels);
  };
  std::string none;
  if (v.reading() || condition.worst) {
    v.object("worst", worst);
  } else {
    v.null_if_empty("worst", none);
  }
}

void describe(Fields& v, AlertsAnswer::RuleConfigError& error) {
  v("file", error.file);
  v("line", error.line);
  v("column", error.column);
  v("message", error.message);
}

namespace {

void describe(Fields& v, AlertsAnswer::Rule& rule, const AlertsAnswer& answer) {
  v.required_text("alert", rule.name);
  // A person paged by severity must not miss it.
  word_or(v, "severity", rule.severity, kSeverityNames, "critical");
  const std::string unknown_state = word_or(v, "state", rule.state, kRuleStates, "unknown");
  v("inhibited", rule.inhibited);
  v("unless", rule.unless);
  v.null_if_empty("unknown_reason", rule.blind);
  if (!unknown_state.empty() && rule.blind.empty()) {
    rule.blind = "only a newer jetmem knows its state '" + unknown_state + "'";
  }
  v.null_if_empty("needs_history", rule.needs_history);
  v("no_series", rule.no_series);
  v("for_seconds", rule.hold_seconds);
  v("keep_firing_for_seconds", rule.keep_firing_seconds);
  v("summary", rule.summary);
  v("cause", rule.cause);
  v("remedy", rule.remedy);
  v.null_if_empty("runbook", rule.runbook);
  v.required("conditions", rule.conditions);
  const bool has_alerts = v.list("alerts", rule.alerts, [&](Fields& w, AlertsAnswer::Alert& alert) {
    describe(w, alert, answer);
  });
  if (!has_alerts) v.fail("alerts", "is missing");
  if (contradicts(rule)) v.fail("state", "'" + rule.state + "' beside worse alerts");
  v("dropped_alerts", rule.dropped);
}

}  // namespace

void describe(Fields& v, AlertsAnswer& answer) {
  v.schema(AlertsAnswer::kSchema);
  v.object("evaluated", [&](Fields& w) {
    constexpr std::array<std::string_view, 2> kEvaluators{"jetmemd", "local"};
    std::string by = v.reading() ? "" : answer.local_snapshot ? "local" : "jetmemd";
    required_word(w, "by", by, kEvaluators);
    answer.local_snapshot = by == "local";
    std::string time = time_of(answer, 0);
    w.null_if_empty("time", time);
    w.null_if_absent("unix_seconds", answer.evaluated_wall);
    if (answer.evaluated_wall && !wall_of(*answer.evaluated_wall)) answer.evaluated_wall.reset();
    w("since_boot_seconds", answer.evaluated_since_boot);
    w("interval_seconds", answer.interval_seconds);
    w.required("evaluations", answer.steps);
  });
  if (!v.reading()) {
    v.object("counts", [&](Fields& w) {
      for (const std::string_view state : kRuleStates) {
        w.output(state.data(), answer.count(state));
      }
      w.output("no_series", answer.count_without_series());
    });
  }
  v.required("config_errors", answer.config_errors);
  std::uint64_t rules_omitted =
      answer.rules_omitted +
      v.list_within("rules", answer.rules, kMaxRulesJson,
                    [&](Fields& w, AlertsAnswer::Rule& rule) { describe(w, rule, answer); });
  v.object("omitted", [&](Fields& w) {
    w.required("rules", rules_omitted);
    w.required("alerts", answer.alerts_omitted);
    w.required("config_errors", answer.config_errors_omitted);
  });
  if (v.reading()) answer.rules_omitted = rules_omitted;
}

std::uint64_t AlertsAnswer::count(std::string_view state) const {
  return static_cast<std::uint64_t>(std::count_if(
      rules.begin(), rules.end(), [&](const Rule& rule) { return rule.state == state; }));
}

std::uint64_t AlertsAnswer::count_alerts(std::string_view state) const {
  std::uint64_t out = 0;
  for (const Rule& rule : rules) {
    out += static_cast<std::uint64_t>(
        std::count_if(rule.alerts.begin(), rule.alerts.end(),
                      [&](const Alert& alert) { return alert.state == state; }));
    if (rule.state == state) out += rule.dropped;
  }
  return out;
}

std::uint64_t AlertsAnswer::count_without_series() const {
  return static_cast<std::uint64_t>(std::count_if(rules.begin(), rules.end(), [](const Rule& rule) {
    return rule.state == "inactive" && !rule.no_series.empty();
  }));
}

std::string alerts_json(const AlertsAnswer& answer) { return json::write(answer, 2); }

Result<AlertsAnswer> parse_alerts(std::string_view text) { return json::read<AlertsAnswer>(text); }

}  // namespace jetmem
