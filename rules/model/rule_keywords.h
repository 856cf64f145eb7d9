// SPDX-License-Identifier: Apache-2.0
// The words of the rule language, each with what it stands for.
#pragma once

#include <array>

#include "config/named.h"
#include "rules/model/rules.h"

namespace jetmem {

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

}  // namespace jetmem
