// SPDX-License-Identifier: Apache-2.0
// An engine and its steps, for tests: rules as text, values by series.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/engine/engine.h"

namespace jetmem {

inline const Labels kNone;

// What a test says of a rule; the rest is what every rule needs.
struct RuleText {
  std::string name;
  std::string when;  // its conditions
  std::string more{};
};
inline std::string rules_text(std::initializer_list<RuleText> rules) {
  std::string text = "rules:\n";
  for (const RuleText& each : rules) {
    text += "- {alert: " + each.name + ", severity: warning, summary: s, when: [" + each.when +
            "]" + (each.more.empty() ? "" : ", " + each.more) + "}\n";
  }
  return text;
}

inline RuleSet rules_of(std::string_view text) {
  const ConfigText file{"rules.yaml", text};
  ParsedRules parsed = parse_rules({&file, 1});
  for (const ConfigError& error : parsed.errors) ADD_FAILURE() << error.message;
  return std::move(parsed.rules);
}

class BlindMetrics final : public SourceVisibility {
 public:
  std::string_view blind(std::string_view metric) const override {
    const auto at = reasons.find(std::string(metric));
    return at == reasons.end() ? std::string_view() : at->second;
  }
  std::string_view partly_blind(std::string_view metric, const Labels&) const override {
    const auto at = partly.find(std::string(metric));
    return at == partly.end() ? blind(metric) : at->second;
  }
  std::map<std::string, std::string> reasons;
  std::map<std::string, std::string> partly;
};

class Evaluation {
 public:
  explicit Evaluation(std::string_view rules, std::size_t memory = 2U << 20)
      : engine(rules_of(rules), {std::chrono::seconds(15), memory}) {}

  struct Given {
    std::string metric;
    Labels labels;
    std::optional<double> value;  // nothing: stale
  };
  // A step 15 s after the one before; what is not given is a gap.
  void step(const std::vector<Given>& given) {
    engine.begin(time);
    for (const Given& each : given) {
      const auto id = engine.series(each.metric, each.labels);
      ASSERT_TRUE(id) << each.metric;
      if (each.value) {
        engine.set(*id, *each.value);
      } else {
        engine.set_stale(*id);
      }
    }
    engine.evaluate(&blindness);
    time += std::chrono::seconds(15);
  }
  // "Name change" of the last step, with the reason behind it where there is one.
  std::vector<std::string> reported() const {
    std::vector<std::string> out;
    for (const Transition& t : engine.transitions()) {
      std::string line = t.rule->name + " " + std::string(change_name(t.change));
      if (!t.reason.empty()) line += ": " + t.reason;
      out.push_back(std::move(line));
    }
    return out;
  }
  AlertState state(std::size_t rule) const { return engine.evaluated(rule).state(); }

  RuleEngine engine;
  BlindMetrics blindness;
  Nanoseconds time{0};
};

}  // namespace jetmem
