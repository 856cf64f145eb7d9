// The words of the rule language, each with what it stands for.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/rules.h"

namespace jetmem {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

inline constexpr std::array kSeverities{Named<Severity>{Severity::kInfo, "info"},
                                        Named<Severity>{Severity::kWarning, "warning"},
                                        Named<Severity>{Severity::kCritical, "critical"}};
inline constexpr std::array kFunctions{Named<Function>{Function::kRate, "rate"},
                                       Named<Function>{Function::kIncrease, "increase"},
                                       Named<Function>{Function::kDelta, "delta"},
                                       Named<Function>{Function::kSlope, "slope"},
                                       Named<Function>{Function::kPredict, "predict"},
                                       Named<Function>{Function::kAverage, "average"},
                                       Named<Function>{Function::kMinimum, "minimum"},
                                       Named<Function>{Function::kMaximum, "maximum"},
                                       Named<Function>{Function::kChanges, "changes"},
                                       Named<Function>{Function::kAbsent, "absent"}};
inline constexpr std::array kComparisons{Named<Comparison>{Comparison::kAbove, "above"},
                                         Named<Comparison>{Comparison::kBelow, "below"},
                                         Named<Comparison>{Comparison::kAtLeast, "at_least"},
                                         Named<Comparison>{Comparison::kAtMost, "at_most"},
                                         Named<Comparison>{Comparison::kEqual, "equal_to"},
                                         Named<Comparison>{Comparison::kNotEqual, "not_equal_to"}};

template <class List>
auto names_of(const List& list) {
  std::vector<std::string_view> names;
  for (const auto& each : list) names.push_back(each.name);
  return names;
}

template <class List, class E>
std::string_view name_in(const List& list, E value) {
  for (const auto& each : list) {
    if (each.value == value) return each.name;
  }
  return {};
}

}  // namespace jetmem
