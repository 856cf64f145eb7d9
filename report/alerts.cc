#include "report/alerts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "base/utc_time.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;
using Answer = AlertsAnswer;

constexpr std::size_t kMaxShown = 4096;  // bytes of one text
// A rule's indentation and what frames the list.
constexpr std::size_t kFrame = 64U << 10;

Json number(std::optional<double> value) {
  // JSON has no infinity; `shown` says it.
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json labels_json(const Labels& labels) {
  Json out = Json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

Json time_of(const Answer& answer, double seconds_ago) {
  if (!answer.judged_wall) return nullptr;
  const auto wall = std::chrono::duration<double>(*answer.judged_wall - seconds_ago);
  return utc_time(std::chrono::round<std::chrono::milliseconds>(wall));
}

Json alert_json(const Answer& answer, const Answer::Alert& alert) {
  Json out;
  out["state"] = alert.state;
  out["labels"] = labels_json(alert.labels);
  const bool is_unknown = alert.state == "unknown";
  out["value"] = number(alert.value);
  out["shown"] = text_or_null(alert.shown);
  out["active_since"] = is_unknown ? Json(nullptr) : time_of(answer, alert.active_seconds);
  out["active_seconds"] = is_unknown ? Json(nullptr) : Json(alert.active_seconds);
  out["firing_since"] =
      alert.firing_seconds ? time_of(answer, *alert.firing_seconds) : Json(nullptr);
  out["firing_seconds"] = number(alert.firing_seconds);
  out["kept"] = alert.kept;
  out["summary"] = alert.summary;
  out["cause"] = alert.cause;
  out["remedy"] = alert.remedy;
  return out;
}

Json condition_json(const Answer::Condition& condition) {
  Json out;
  out["text"] = condition.text;
  out["expression"] = condition.expression;
  out["series"] = condition.series;
  out["holding"] = condition.holding;
  out["worst"] = nullptr;
  if (condition.worst) {
    out["worst"] = Json{{"value", number(condition.worst)},
                        {"shown", condition.shown},
                        {"labels", labels_json(condition.labels)}};
  }
  return out;
}

Json rule_json(const Answer& answer, const Answer::Rule& rule) {
  Json out;
  out["alert"] = rule.name;
  out["severity"] = rule.severity;
  out["state"] = rule.state;
  out["silenced"] = rule.silenced;
  out["unless"] = rule.unless;
  out["blind"] = text_or_null(rule.blind);
  out["needs_past"] = text_or_null(rule.needs_past);
  out["no_series"] = rule.no_series;
  out["for_seconds"] = rule.hold_seconds;
  out["keep_firing_for_seconds"] = rule.keep_firing_seconds;
  out["summary"] = rule.summary;
  out["cause"] = rule.cause;
  out["remedy"] = rule.remedy;
  out["runbook"] = text_or_null(rule.runbook);
  out["conditions"] = Json::array();
  for (const Answer::Condition& condition : rule.conditions) {
    out["conditions"].push_back(condition_json(condition));
  }
  out["alerts"] = Json::array();
  for (const Answer::Alert& alert : rule.alerts) out["alerts"].push_back(alert_json(answer, alert));
  out["dropped_alerts"] = rule.dropped;
  return out;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// Takes what is of the right kind; what is not is as if it were not there. What must be there is
// asked for by must_...(), which remember what was missing.
class Reader {
 public:
  explicit Reader(const Json& json, std::string* missing = nullptr)
      : json_(json), missing_(missing) {}

  std::string must_be_one_of(const char* key, std::span<const std::string_view> words) const {
    std::string word = text(key);
    const bool is_known = std::find(words.begin(), words.end(), word) != words.end();
    if (!is_known) miss(key, at(key).is_null() ? "" : printable(dump(at(key)), 60));
    return word;
  }
  std::string must_have_text(const char* key) const {
    std::string out = text(key);
    if (out.empty()) miss(key);
    return out;
  }
  std::uint64_t must_count(const char* key) const {
    if (!at(key).is_number_unsigned()) miss(key);
    return count(key);
  }
  const Json& must_have_list(const char* key) const {
    static const Json kEmpty = Json::array();
    if (at(key).is_array()) return at(key);
    miss(key);
    return kEmpty;
  }

  const Json& at(const char* key) const {
    static const Json kNone;
    const auto found = json_.find(key);
    return json_.is_object() && found != json_.end() ? *found : kNone;
  }
  std::string text(const char* key) const {
    const Json& value = at(key);
    return value.is_string() ? printable(value.get_ref<const std::string&>(), kMaxShown) : "";
  }
  std::optional<double> number(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number()) return std::nullopt;
    return value.get<double>();
  }
  std::uint64_t count(const char* key) const {
    const Json& value = at(key);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  }
  bool flag(const char* key) const { return at(key) == true; }
  Labels labels(const char* key) const {
    Labels out;
    if (!at(key).is_object()) return out;
    for (const auto& [name, value] : at(key).items()) {
      if (value.is_string()) {
        out.emplace_back(printable(name), printable(value.get_ref<const std::string&>()));
      }
    }
    return out;
  }

  void miss(const char* key, const std::string& instead = {}) const {
    if (missing_ == nullptr || !missing_->empty()) return;
    *missing_ = instead.empty() ? "lacks '" + std::string(key) + "'"
                                : "has " + instead + " for '" + key + "'";
  }

 private:
  const Json& json_;
  std::string* missing_;
};

Answer::Alert read_alert(const Reader& from) {
  Answer::Alert out;
  constexpr std::array<std::string_view, 3> kStates{"firing", "pending", "unknown"};
  out.state = from.must_be_one_of("state", kStates);
  out.labels = from.labels("labels");
  out.value = from.number("value");
  out.shown = from.text("shown");
  // A value that JSON cannot hold is there all the same.
  if (!out.value && !out.shown.empty()) out.value = std::nan("");
  out.active_seconds = from.number("active_seconds").value_or(0);
  out.firing_seconds = from.number("firing_seconds");
  out.kept = from.flag("kept");
  out.summary = from.text("summary");
  out.cause = from.text("cause");
  out.remedy = from.text("remedy");
  return out;
}

Answer::Condition read_condition(const Reader& from) {
  Answer::Condition out;
  out.text = from.text("text");
  out.expression = from.text("expression");
  out.series = from.count("series");
  out.holding = from.count("holding");
  const Reader worst(from.at("worst"));
  out.shown = worst.text("shown");
  if (!out.shown.empty()) out.worst = worst.number("value").value_or(std::nan(""));
  out.labels = worst.labels("labels");
  return out;
}

// Its state must be at least as bad as its alerts'.
bool contradicts(const Answer::Rule& rule) {
  const auto has = [&](std::string_view state) {
    return std::any_of(rule.alerts.begin(), rule.alerts.end(),
                       [&](const Answer::Alert& alert) { return alert.state == state; });
  };
  if (has("firing")) return rule.state != "firing";
  return rule.state == "inactive" && !rule.alerts.empty();
}

// A word of a newer jetmem's is taken for another one, and counted.
std::string known_or(const Reader& from, const char* key, std::span<const std::string_view> words,
                     std::string_view otherwise, std::uint64_t& not_understood) {
  const std::string word = from.text(key);
  if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) {
    return from.must_be_one_of(key, words);
  }
  ++not_understood;
  return std::string(otherwise);
}

Answer::Rule read_rule(const Json& json, std::string& missing, std::uint64_t& not_understood) {
  constexpr std::array<std::string_view, 4> kStates{"firing", "pending", "unknown", "inactive"};
  constexpr std::array<std::string_view, 3> kSeverities{"info", "warning", "critical"};
  const Reader from(json, &missing);
  Answer::Rule out;
  out.name = from.must_have_text("alert");
  // Whoever is paged by severity must not miss it.
  out.severity = known_or(from, "severity", kSeverities, "critical", not_understood);
  const std::uint64_t before = not_understood;
  out.state = known_or(from, "state", kStates, "unknown", not_understood);
  const bool is_known = not_understood == before;
  out.silenced = from.flag("silenced");
  for (const Json& name : from.at("unless")) {
    if (name.is_string()) out.unless.push_back(printable(name.get_ref<const std::string&>()));
  }
  out.blind = from.text("blind");
  if (!is_known && out.blind.empty()) {
    out.blind = "only a newer jetmem knows its state '" + from.text("state") + "'";
  }
  out.needs_past = from.text("needs_past");
  for (const Json& each : from.at("no_series")) {
    if (each.is_string()) {
      out.no_series.push_back(printable(each.get_ref<const std::string&>(), kMaxShown));
    }
  }
  out.hold_seconds = from.number("for_seconds").value_or(0);
  out.keep_firing_seconds = from.number("keep_firing_for_seconds").value_or(0);
  out.summary = from.text("summary");
  out.cause = from.text("cause");
  out.remedy = from.text("remedy");
  out.runbook = from.text("runbook");
  for (const Json& each : from.must_have_list("conditions")) {
    out.conditions.push_back(read_condition(Reader(each)));
  }
  for (const Json& each : from.must_have_list("alerts")) {
    out.alerts.push_back(read_alert(Reader(each, &missing)));
  }
  if (contradicts(out)) from.miss("state", "'" + out.state + "' beside worse alerts");
  out.dropped = from.count("dropped_alerts");
  return out;
}

}  // namespace

std::uint64_t AlertsAnswer::count(std::string_view state) const {
  return static_cast<std::uint64_t>(std::count_if(
      rules.begin(), rules.end(), [&](const Rule& rule) { return rule.state == state; }));
}

std::uint64_t AlertsAnswer::count_without_series() const {
  return static_cast<std::uint64_t>(std::count_if(rules.begin(), rules.end(), [](const Rule& rule) {
    return rule.state == "inactive" && !rule.no_series.empty();
  }));
}

std::string alerts_json(const AlertsAnswer& answer) {
  Json out;
  out["schema"] = Answer::kSchema;
  Json& judged = out["judged"];
  judged["by"] = answer.one_look ? "one look" : "jetmemd";
  judged["time"] = time_of(answer, 0);
  judged["unix_seconds"] = number(answer.judged_wall);
  judged["since_boot_seconds"] = answer.judged_since_boot;
  judged["interval_seconds"] = answer.interval_seconds;
  judged["steps"] = answer.steps;
  Json& counts = out["counts"];
  for (const char* state : {"firing", "pending", "unknown", "inactive"}) {
    counts[state] = answer.count(state);
  }
  counts["no_series"] = answer.count_without_series();
  out["mistakes"] = Json::array();
  for (const Answer::Mistake& mistake : answer.mistakes) {
    out["mistakes"].push_back({{"file", mistake.file},
                               {"line", mistake.line},
                               {"column", mistake.column},
                               {"message", mistake.message}});
  }
  out["rules"] = Json::array();
  std::uint64_t left_out = answer.rules_left_out;
  std::size_t size = dump(out).size() + kFrame;
  for (const Answer::Rule& rule : answer.rules) {
    Json each = rule_json(answer, rule);
    // Its indentation in the whole is deeper than alone, by less than half as much again.
    const std::size_t cost = dump(each).size();
    size += cost + cost / 2;
    if (size > kMaxAlertsJson) {
      ++left_out;
      continue;
    }
    out["rules"].push_back(std::move(each));
  }
  out["left_out"] = {{"rules", left_out},
                     {"alerts", answer.alerts_left_out},
                     {"mistakes", answer.mistakes_left_out}};
  return dump(out) + "\n";
}

Result<AlertsAnswer> parse_alerts(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Errc::kMalformed, "the answer is not JSON; is another program listening there?");
  }
  const Reader all(json);
  const std::string schema = all.text("schema");
  if (schema != Answer::kSchema) {
    return fail(Errc::kMalformed, "the answer is '" + printable(schema, 60) + "', expected '" +
                                      std::string(Answer::kSchema) +
                                      "'; are jetmem and jetmemd of the same version?");
  }
  AlertsAnswer out;
  std::string missing;
  constexpr std::array<std::string_view, 2> kJudges{"jetmemd", "one look"};
  const Reader judged(all.at("judged"), &missing);
  out.one_look = judged.must_be_one_of("by", kJudges) != "jetmemd";
  out.judged_since_boot = judged.number("since_boot_seconds").value_or(0);
  out.judged_wall = judged.number("unix_seconds");
  out.interval_seconds = judged.number("interval_seconds").value_or(0);
  out.steps = judged.must_count("steps");
  const Reader whole(json, &missing);
  for (const Json& each : whole.must_have_list("mistakes")) {
    const Reader from(each);
    out.mistakes.push_back(
        {from.text("file"), from.count("line"), from.count("column"), from.text("message")});
  }
  for (const Json& each : whole.must_have_list("rules")) {
    out.rules.push_back(read_rule(each, missing, out.not_understood));
    if (missing.empty()) continue;
    missing = "has a rule, number " + std::to_string(out.rules.size()) + ", that " + missing;
    break;
  }
  const Reader left_out(all.at("left_out"), &missing);
  out.rules_left_out = left_out.must_count("rules");
  out.alerts_left_out = left_out.must_count("alerts");
  out.mistakes_left_out = left_out.must_count("mistakes");
  if (missing.empty()) return out;
  return fail(Errc::kMalformed, "the answer is malformed: it " + missing +
                                    "; are jetmem and jetmemd of the same version?");
}

}  // namespace jetmem
