// SPDX-License-Identifier: Apache-2.0
// Labels whose values are known beforehand, whatever the machine: a rule on another value could
// never fire, so it is refused, as an unknown metric is.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace jetmem {

struct ClosedLabel {
  std::string_view metric;
  std::string_view label;
  std::vector<std::string_view> (*values)();
};

std::span<const ClosedLabel> closed_labels();

// For a declared metric, not for a companion's name. Empty: any value is possible.
std::vector<std::string_view> closed_label_values(std::string_view metric, std::string_view label);

}  // namespace jetmem
