// SPDX-License-Identifier: Apache-2.0
#include "cli/text/alerts_text.h"

#include <algorithm>
#include <cmath>

#include "base/text/units.h"
#include "cli/draw/since.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

constexpr std::size_t kAlertIndent = 4;
constexpr std::size_t kMaxConfigErrors = 5;

std::string span_text(double seconds) {
  // Whole seconds are precise enough.
  const double whole = std::isfinite(seconds) ? std::clamp(std::round(seconds), 0.0, 1e10) : 0;
  return format_duration(std::chrono::seconds(static_cast<std::int64_t>(whole)));
}

std::string labels_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out.append(out.empty() ? "" : ",").append(name).append("=\"").append(value).append("\"");
  }
  return out;
}

std::string_view color_of(const AlertsAnswer::Rule& rule, std::string_view state) {
  if (state == "firing") {
    if (rule.severity == "critical") return "\x1b[1;31m";
    return rule.severity == "warning" ? "\x1b[1;33m" : "\x1b[1;36m";
  }
  if (state == "pending") return "\x1b[33m";
  return state == "unknown" ? "\x1b[35m" : "";
}

std::string head(const AlertsAnswer::Rule& rule, std::string_view state, const Labels& labels,
                 const AlertsTextOptions& options) {
  std::string word(state);
  if (state == "firing" || state == "unknown") {
    word = upper_case(std::move(word));
  }
  const std::string_view color = options.color ? color_of(rule, state) : "";
  std::string out(color);
  out.append(word);
  if (!color.empty()) out.append("\x1b[0m");
  out.append(word.size() < 8 ? 8 - word.size() : 1, ' ').append(rule.severity);
  out.append(rule.severity.size() < 9 ? 9 - rule.severity.size() : 1, ' ').append(rule.name);
  if (!labels.empty()) out.append(" ").append(labels_text(labels));
  return out.append("\n");
}

std::string since_text(const AlertsAnswer& answer, double seconds) {
  std::string out;
  if (answer.evaluated_wall) out = local_time(wall_clock(*answer.evaluated_wall - seconds)) + ", ";
  return out + "for " + span_text(seconds);
}

std::string block(const AlertsAnswer& answer, const AlertsAnswer::Rule& rule,
                  const AlertsAnswer::Alert& alert, const AlertsTextOptions& options) {
  std::string out = head(rule, alert.state, alert.labels, options);
  if (alert.state == "unknown") {
    std::string text = "state unknown: its source is unavailable";
    if (!rule.blind.empty()) text += " (" + rule.blind + ")";
    return out + wrapped(text, kAlertIndent);
  }
  out += wrapped(alert.summary, kAlertIndent);
  std::string value = "Value " + alert.shown;
  if (answer.local_snapshot) {
    value += " now";
    if (!rule.needs_history.empty()) value += "; " + rule.needs_history;
  } else {
    value += "; condition true since " + since_text(answer, alert.active_seconds);
    if (alert.state == "pending") {
      value += "; fires after " + span_text(rule.hold_seconds);
    }
    if (alert.kept) {
      value += "; no longer true, keeps firing for " + span_text(rule.keep_firing_seconds) +
               " after its end";
    }
  }
  out += wrapped(value + ".", kAlertIndent);
  if (!rule.blind.empty()) out += wrapped("Incomplete: " + rule.blind + ".", kAlertIndent);
  if (!alert.cause.empty()) out += wrapped("Cause: " + alert.cause, kAlertIndent);
  if (!alert.remedy.empty()) out += wrapped("Remedy: " + alert.remedy, kAlertIndent);
  if (!rule.runbook.empty()) out += wrapped("Runbook: " + rule.runbook, kAlertIndent);
  return out;
}

std::string unknown_rule(const AlertsAnswer::Rule& rule, const AlertsTextOptions& options) {
  std::string out = head(rule, "unknown", {}, options);
  if (!rule.blind.empty()) out += wrapped(rule.blind, kAlertIndent);
  if (!rule.needs_history.empty()) out += wrapped(rule.needs_history, kAlertIndent);
  return out;
}

std::string quiet_rule(const AlertsAnswer::Rule& rule, const AlertsTextOptions& options) {
  std::string out = head(rule, "inactive", {}, options);
  if (rule.inhibited) {
    std::string by;
    for (const std::string& name : rule.unless) by += (by.empty() ? "" : " or ") + name;
    out += wrapped("inhibited: " + by + " fires", kAlertIndent);
  }
  for (const std::string& expression : rule.no_series) {
    out += wrapped("not applicable here: no series " + expression, kAlertIndent);
  }
  for (const AlertsAnswer::Condition& condition : rule.conditions) {
    out += wrapped(condition.text + ": " + standing(condition), kAlertIndent);
  }
  return out;
}

std::string summary(const AlertsAnswer& answer) {
  std::string text;
  const std::uint64_t idle = answer.count_without_series();
  for (const auto& [state, count] :
       {std::pair("firing", answer.count("firing")), std::pair("pending", answer.count("pending")),
        std::pair("unknown", answer.count("unknown")),
        std::pair("inactive", answer.count("inactive") - idle),
        std::pair("not applicable here", idle)}) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  }
  const std::uint64_t all = answer.rules.size() + answer.rules_omitted;
  if (all == 0) return "There are no rules: no alert will ever fire.";
  return counted(all, "rule") + ": " + text + ".";
}

std::string config_errors_text(const AlertsAnswer& answer) {
  if (answer.config_errors.empty()) return {};
  const std::uint64_t all = answer.config_errors.size() + answer.config_errors_omitted;
  std::string out =
      wrapped("The rules have " + counted(all, "error") + "; run `jetmem rules check`:", 0);
  for (std::size_t i = 0; i < std::min(answer.config_errors.size(), kMaxConfigErrors); ++i) {
    const AlertsAnswer::RuleConfigError& config_error = answer.config_errors[i];
    std::string where = config_error.file;
    if (config_error.line > 0) {
      where += ":" + std::to_string(config_error.line) + ":" + std::to_string(config_error.column);
    }
    out += wrapped(where + ": " + config_error.message, kAlertIndent);
  }
  return out + "\n";
}

}  // namespace

std::string standing(const AlertsAnswer::Condition& condition) {
  if (!condition.worst) {
    return condition.series == 0 ? "no value"
                                 : std::to_string(condition.series) + " series present";
  }
  std::string out = "now " + condition.shown;
  if (!condition.labels.empty()) out += " (" + labels_text(condition.labels) + ")";
  if (condition.series > 1 || condition.holding > 0) {
    out += "; true for " + std::to_string(condition.holding) + " of " +
           std::to_string(condition.series) + " series";
  }
  return out;
}

std::string evaluator_name(const AlertsAnswer& answer, const std::string& from) {
  if (answer.local_snapshot) return "evaluated on one reading, without jetmemd";
  std::string out = "evaluated by jetmemd (" + from + ")";
  if (answer.evaluated_wall)
    out += " at " + local_time(wall_clock(*answer.evaluated_wall)) + " " + time_zone_text();
  return out + ", every " + span_text(answer.interval_seconds);
}

std::string alerts_text(const AlertsAnswer& answer, const AlertsTextOptions& options) {
  std::string out;
  for (const AlertsAnswer::Rule& rule : answer.rules) {
    std::string text;
    for (const AlertsAnswer::Alert& alert : rule.alerts) {
      text += block(answer, rule, alert, options);
    }
    if (rule.state == "unknown" && rule.alerts.empty()) text = unknown_rule(rule, options);
    if (rule.state == "inactive" && options.all) text = quiet_rule(rule, options);
    if (rule.dropped > 0) {
      text += wrapped(counted(rule.dropped, "alert") + " more of this rule are not tracked",
                      kAlertIndent);
    }
    if (!text.empty()) out += text + "\n";
  }
  out += config_errors_text(answer);
  if (answer.alerts_omitted + answer.rules_omitted > 0) {
    out += wrapped("Not shown: " + counted(answer.alerts_omitted, "alert") + ", " +
                       counted(answer.rules_omitted, "rule") + ".",
                   0);
  }
  std::string last = summary(answer) + " " + evaluator_name(answer, options.from) + ".";
  const std::size_t at = summary(answer).size() + 1;
  last[at] = 'E';
  return out + wrapped(last, 0);
}

int alerts_status(const AlertsAnswer& answer) {
  // As the status has it: info alerts change nothing, a critical one that is pending is a warning,
  // and so is one whose condition is true in a single reading.
  const auto any = [&](auto matches) {
    return std::any_of(answer.rules.begin(), answer.rules.end(), matches);
  };
  if (any([](const AlertsAnswer::Rule& rule) {
        return rule.state == "firing" && rule.severity == "critical";
      })) {
    return kExitCritical;
  }
  if (any([&](const AlertsAnswer::Rule& rule) {
        if (rule.severity == "info") return false;
        const bool counts = rule.severity == "critical" || answer.local_snapshot;
        return rule.state == "firing" || (rule.state == "pending" && counts);
      })) {
    return kExitWarning;
  }
  const bool needs_history =
      any([](const AlertsAnswer::Rule& rule) { return !rule.needs_history.empty(); });
  // Each is known not to fire, rather than none known to.
  const bool all_known =
      !answer.rules.empty() &&
      answer.count("inactive") + answer.count("pending") + answer.count("firing") ==
          answer.rules.size();
  const bool all_reported =
      all_known && !needs_history && answer.config_errors.empty() && answer.rules_omitted == 0;
  return all_reported ? kExitOk : kExitUnknown;
}

}  // namespace jetmem
