// SPDX-License-Identifier: Apache-2.0
#include "tests/rules/shipped/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text/text.h"
#include "base/text/units.h"
#include "config/number.h"
#include "config/yaml_fields.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kStep = std::chrono::seconds(15);
// The boot clock of the first step: the machine has been up for a while.
constexpr Nanoseconds kBegin = std::chrono::hours(100);

std::string_view without(std::string_view text, char open_quote) {
  if (text.size() >= 2 && text.front() == open_quote && text.back() == open_quote) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// "area=\"linux,cma\",x=y"
Labels labels_of(std::string_view text) {
  Labels labels;
  while (!text.empty()) {
    const std::size_t equals = text.find('=');
    const std::string name(trim(text.substr(0, equals)));
    text.remove_prefix(equals + 1);
    const bool quoted = text.starts_with('"');
    const std::size_t end = quoted ? text.find('"', 1) + 1 : std::min(text.find(','), text.size());
    labels.emplace_back(name, without(text.substr(0, end), '"'));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

std::vector<Scenario> stories_of(std::string_view text) {
  std::vector<Scenario> out;
  std::string* part = nullptr;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = line.substr(0, line.find('#'));
    if (line.starts_with("Jetmem")) {
      Scenario& story = out.emplace_back();
      story.rule = take_word(line);
      story.labels = trim(line);
      part = &story.fires;
    } else if (trim(line) == "quiet") {
      part = &out.back().quiet;
    } else if (part != nullptr) {
      part->append(line).append("\n");
    }
  }
  return out;
}

Scenario recent_events(const std::string& rule, const std::string& fires, const std::string& quiet,
                       const std::string& of_other) {
  const auto recent = [](const std::string& kind) {
    return "kernel_recent_events{kind=" + kind + "} = ";
  };
  const std::string total = "kernel_events_total{kind=" + quiet + ",origin=";
  return {.rule = rule,
          .fires = "0s " + recent(fires) + "0 -> inactive\n1m " + recent(fires) +
                   "1 -> firing\n10m45s -> firing\n11m " + recent(fires) + "0 -> inactive",
          .labels = "kind=" + fires,
          .quiet = "0s " + recent(quiet) + "0; " + total + "system} = 3 -> inactive\n5m " + total +
                   "probe} = 2 -> inactive\n6m " + total + "system} = 27 -> inactive\n10m " +
                   recent(of_other) + "4 -> inactive\n20m " + recent(quiet) + "gone; " + total +
                   "system} = 0 -> inactive\n30m -> inactive"};
}

std::vector<Scenario> all_stories() {
  std::vector<Scenario> all = memory_stories();
  for (const auto& more : {device_stories(), jetmem_stories(), kernel_stories()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

const RuleSet& shipped_rule_set() {
  static const RuleSet rules = parse_rules(shipped_rules()).rules;
  return rules;
}

ScenarioDevice::ScenarioDevice(std::string_view rule) : engine_(shipped_rule_set(), {}) {
  const auto& rules = engine_.rules().rules;
  while (index_ < rules.size() && rules[index_].name != rule) ++index_;
  if (index_ == rules.size()) {
    ADD_FAILURE() << "there is no rule " << rule;
    index_ = 0;
  }
  seen_.resize(rules[index_].when.size());
}

std::vector<ScenarioDevice::Line> ScenarioDevice::lines_of(std::string_view scenario) {
  std::vector<Line> out;
  Lines lines(scenario);
  std::string_view text;
  while (lines.next(text)) {
    text = trim(text);
    if (text.empty()) continue;
    Line line;
    line.text = text;
    const std::size_t arrow = text.find("->");
    std::string_view rest = text.substr(0, arrow);
    const auto at = parse_duration(take_word(rest));
    if (!at || arrow == std::string_view::npos) {
      ADD_FAILURE() << "not a line of a story: " << text;
      continue;
    }
    line.at = *at;
    line.state = trim(text.substr(arrow + 2));
    for (rest = trim(rest); !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      line.settings.emplace_back(trim(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out.push_back(std::move(line));
  }
  return out;
}

void ScenarioDevice::apply(const std::string& setting) {
  std::string_view text = setting;
  const std::size_t brace = text.find('{');
  const std::size_t close = text.find('}');
  std::size_t sign = text.find_first_of("+=", close == std::string_view::npos ? 0 : close);
  const std::string key(trim(text.substr(0, sign)));
  const bool grows = text[sign] == '+';
  std::string_view value = trim(text.substr(sign + (grows ? 2 : 1)));

  const std::string metric = "jetmem_" + std::string(trim(text.substr(0, std::min(brace, sign))));
  const Labels labels = brace == std::string_view::npos
                            ? Labels()
                            : labels_of(text.substr(brace + 1, close - brace - 1));
  if (!MetricCatalog::of_jetmem().find(metric)) {
    ADD_FAILURE() << "no source declares " << metric;
    return;
  }
  const auto id = engine_.series(metric, labels);
  // No rule looks at it: that is what some stories are about.
  if (!id) return;
  Series& series = series_[key];
  series.id = *id;
  series.gone = value == "gone";
  if (series.gone) return;
  if (grows && value.ends_with("/s")) value.remove_suffix(2);
  const auto number = parse_rule_number(value);
  if (!number) ADD_FAILURE() << "not a value: " << setting;
  if (grows) {
    series.per_second = number ? number->value : 0;
  } else {
    series.value = number ? number->value : 0;
    series.per_second = 0;
  }
}

void ScenarioDevice::step() {
  engine_.begin(kBegin + now_);
  for (auto& [key, series] : series_) {
    if (series.gone) {
      engine_.set_stale(series.id);
    } else {
      engine_.set(series.id, series.value);
    }
  }
  engine_.evaluate();
  const auto& conditions = engine_.evaluated(index_).conditions;
  for (std::size_t c = 0; c < conditions.size(); ++c) {
    if (conditions[c].series > 0) seen_[c] = true;
  }
  for (auto& [key, series] : series_) series.value += 15 * series.per_second;
}

bool ScenarioDevice::play(const Line& line, bool quiet) {
  // More of the same moment: it is evaluated from the next step on.
  if (began_ && line.at == now_) {
    for (const std::string& setting : line.settings) apply(setting);
    return true;
  }
  while (true) {
    const Nanoseconds next = began_ ? now_ + kStep : Nanoseconds(0);
    if (next > line.at) {
      ADD_FAILURE() << "goes backwards, or is not at a step of 15 s: " << line.text;
      return false;
    }
    now_ = next;
    began_ = true;
    if (now_ == line.at) {
      for (const std::string& setting : line.settings) apply(setting);
    }
    step();
    if (quiet && !firing().empty()) {
      ADD_FAILURE() << firing() << "fires at "
                    << format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(now_))
                    << ", up to: " << line.text;
      return false;
    }
    if (now_ == line.at) return true;
  }
}

double ScenarioDevice::value(const std::string& key) const {
  const auto found = series_.find(key);
  return found == series_.end() || found->second.gone ? std::nan("") : found->second.value;
}

std::string ScenarioDevice::labels() const {
  std::string out;
  for (const RuleEngine::Instance& instance : engine_.evaluated(index_).instances) {
    if (instance.state != AlertState::kFiring) continue;
    for (const auto& [name, value] : *instance.labels) {
      out.append(out.empty() ? "" : " ").append(name).append("=").append(value);
    }
    break;
  }
  return out;
}

std::optional<std::string> ScenarioDevice::unseen() const {
  const Rule& rule = engine_.rules().rules[index_];
  for (std::size_t c = 0; c < seen_.size(); ++c) {
    if (!seen_[c]) return rule.when[c].metric;
  }
  return std::nullopt;
}

std::string ScenarioDevice::firing() const {
  std::string out;
  const auto& rules = engine_.rules().rules;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (engine_.evaluated(r).state() == AlertState::kFiring) out.append(rules[r].name).append(" ");
  }
  return out;
}

}  // namespace jetmem
