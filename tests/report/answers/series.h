// SPDX-License-Identifier: Apache-2.0
// Series by key, as tests of answers give them to SampleSet::of; sources and rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/device/device_now.h"

namespace jetmem {

using Series = std::vector<std::pair<std::string, double>>;

constexpr double kMiB = 1 << 20;
constexpr double kGiB = 1 << 30;

inline std::string group(const std::string& what, const std::string& command,
                         const std::string& unit = "") {
  return "jetmem_process_group_" + what + "_bytes{command=\"" + command +
         "\",container=\"\",unit=\"" + unit + "\"}";
}

inline SourceNow source(const char* name, const char* state, const char* reason = "") {
  SourceNow out;
  out.name = name;
  out.state = state;
  out.reason = reason;
  return out;
}

// Rules of almost 5 KiB each, of which none fires.
inline void add_long_rules(AlertsAnswer& alerts, int count) {
  for (int i = 0; i < count; ++i) {
    AlertsAnswer::Rule& rule = alerts.rules.emplace_back();
    rule.name = "Rule" + std::to_string(i);
    rule.severity = "info";
    rule.state = "inactive";
    rule.summary = rule.cause = rule.remedy = std::string(600, 'x');
    for (int c = 0; c < 8; ++c) {
      AlertsAnswer::Condition& condition = rule.conditions.emplace_back();
      condition.text = condition.expression = std::string(300, 'y');
    }
  }
}

}  // namespace jetmem
