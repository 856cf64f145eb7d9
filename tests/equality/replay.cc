// SPDX-License-Identifier: Apache-2.0
// Plays series to the rule engine and prints what it finds, for comparison with Prometheus.
//
//   replay RULES.yaml SERIES.json
//
// SERIES.json: {"interval_ms": 15000,
//   "metrics": [{"name": "x_total", "type": "counter", "labels": ["a"]}],
//   "times": [0, 15000, ...],       milliseconds of the columns
//   "judge": [true, ...],           whether rules are evaluated then; all where it is omitted
//   "series": [{"metric": "x_total", "labels": {"a": "b"}, "values": [1, null, "stale", "NaN"]}]}
// null is a gap. A line of JSON for the rules, one for each judgement.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/units.h"
#include "rules/engine/engine.h"
#include "rules/export/promql.h"
#include "rules/model/texts.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

std::string text_of(const char* path) {
  std::ifstream in(path);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path);
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

// JSON has no NaN and no infinity.
Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return value;
}

Json labels_json(const Labels& labels) {
  Json out = Json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

Labels labels_of(const Json& json) {
  Labels labels;
  for (const auto& [name, value] : json.items()) {
    if (!value.get<std::string>().empty()) labels.emplace_back(name, value.get<std::string>());
  }
  return labels;  // sorted, as the keys of a Json are
}

struct Metrics {
  explicit Metrics(const Json& json) {
    for (const Json& each : json) {
      Descriptor d;
      d.name = each.at("name").get_ref<const std::string&>();
      const bool counter = each.at("type") == "counter";
      d.type = counter ? MetricType::kCounter : MetricType::kGauge;
      std::size_t n = 0;
      for (const Json& label : each.at("labels")) {
        d.labels.at(n++) = label.get_ref<const std::string&>();
      }
      descriptors.push_back(d);
    }
    catalog.add(descriptors, {});
  }
  std::vector<Descriptor> descriptors;
  MetricCatalog catalog;
};

Json rules_json(const RuleSet& rules) {
  Json out = Json::array();
  for (const Rule& rule : rules.rules) {
    Json values = Json::array();
    for (const Condition& condition : rule.when) values.push_back(promql_value(condition));
    const ValueUnit unit = value_unit(rule.when.front());
    Json each{{"alert", rule.name}, {"expr", promql_expression(rule)}, {"values", values}};
    each["for"] = format_duration(rule.hold);
    each["keep_firing_for"] = format_duration(rule.keep_firing_for);
    each["severity"] = severity_name(rule.severity);
    each["summary"] = prometheus_text(rule.texts.summary, unit);
    out.push_back(std::move(each));
  }
  return out;
}

Json step_json(RuleEngine& engine, std::int64_t at) {
  Json values = Json::array();
  Json alerts = Json::array();
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    const Rule& rule = engine.rules().rules[r];
    Json of_rule = Json::array();
    for (const Condition& condition : rule.when) {
      Json of_condition = Json::array();
      for (const auto& [labels, value] : engine.values_of(condition)) {
        of_condition.push_back({labels_json(labels), number(value)});
      }
      of_rule.push_back(std::move(of_condition));
    }
    values.push_back(std::move(of_rule));
    for (const RuleEngine::Instance& instance : engine.evaluated(r).instances) {
      const Labels& labels = *instance.labels;
      Json alert{{"alert", rule.name}, {"labels", labels_json(labels)}};
      alert["severity"] = severity_name(rule.severity);
      alert["state"] = alert_state_name(instance.state);
      alert["value"] = number(instance.value);
      const ValueUnit unit = value_unit(rule.when.front());
      alert["summary"] = fill_text(rule.texts.summary, instance.value, unit, labels);
      alerts.push_back(std::move(alert));
    }
  }
  return {{"at", at}, {"values", std::move(values)}, {"alerts", std::move(alerts)}};
}

double value_of(const Json& value) {
  return value.is_string() ? std::strtod(value.get_ref<const std::string&>().c_str(), nullptr)
                           : value.get<double>();
}

int replay(const char* rules_path, const char* series_path) {
  const Json input = Json::parse(text_of(series_path));
  const Metrics metrics(input.at("metrics"));
  const std::string text = text_of(rules_path);
  const std::chrono::milliseconds interval(input.at("interval_ms").get<std::int64_t>());
  const ConfigText file{rules_path, text};
  ParsedRules parsed = load_rules({&file, 1}, metrics.catalog, interval);
  for (const ConfigError& error : parsed.errors) {
    std::fprintf(stderr, "%s:%zu: %s\n", error.file.c_str(), static_cast<std::size_t>(error.line),
                 error.message.c_str());
  }
  if (!parsed.errors.empty()) return 2;
  std::printf("%s\n", rules_json(parsed.rules).dump().c_str());

  RuleEngine engine(std::move(parsed.rules), {interval, 256U << 20});
  std::vector<std::pair<RuleEngine::SeriesId, const Json*>> series;
  for (const Json& each : input.at("series")) {
    const auto& metric = each.at("metric").get_ref<const std::string&>();
    if (const auto id = engine.series(metric, labels_of(each.at("labels")))) {
      series.emplace_back(*id, &each.at("values"));
    }
  }
  const Json& times = input.at("times");
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto at = times[i].get<std::int64_t>();
    engine.begin(std::chrono::milliseconds(at));
    for (const auto& [id, values] : series) {
      const Json& value = values->at(i);
      if (value.is_null()) continue;
      if (value == "stale") {
        engine.set_stale(id);
      } else {
        engine.set(id, value_of(value));
      }
    }
    if (input.contains("judge") && !input.at("judge").at(i).get<bool>()) continue;
    engine.evaluate();
    std::printf("%s\n", step_json(engine, at).dump().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace jetmem

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "replay RULES.yaml SERIES.json\n");
    return 2;
  }
  try {
    return jetmem::replay(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[2], error.what());
    return 2;
  }
}
