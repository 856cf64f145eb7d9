// SPDX-License-Identifier: Apache-2.0
// Whether rules make sense for what jetmem measures: metrics, labels, functions, texts.
#pragma once

#include <vector>

#include "rules/model/metric_catalog.h"
#include "rules/model/rules.h"

namespace jetmem {

// One error for each error, with the nearest name. `interval`: the grid on which they are
// evaluated; a window that holds fewer than two of its steps could never tell anything.
std::vector<ConfigError> check_rule(const Rule& rule, const MetricCatalog& catalog,
                                    std::chrono::milliseconds interval);

// Parses and checks; a rule with an error is omitted.
ParsedRules load_rules(std::span<const ConfigText> files, const MetricCatalog& catalog,
                       std::chrono::milliseconds interval);

}  // namespace jetmem
