// Whether rules make sense for what jetmem measures: metrics, labels, functions, texts.
#pragma once

#include <vector>

#include "config/rules.h"
#include "health/rules/metric_catalog.h"

namespace jetmem {

// One error for each mistake, with the nearest name. `interval`: the grid on which they are judged;
// a window that holds fewer than two of its steps could never tell anything.
std::vector<ConfigError> check_rule(const Rule& rule, const MetricCatalog& catalog,
                                    std::chrono::milliseconds interval);

// Parses and checks; a rule with a mistake is left out.
ParsedRules load_rules(std::span<const ConfigText> files, const MetricCatalog& catalog,
                       std::chrono::milliseconds interval);

}  // namespace jetmem
