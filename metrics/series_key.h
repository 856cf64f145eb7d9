// SPDX-License-Identifier: Apache-2.0
// The durable name of a series, family{label="value",...} with its labels sorted by name, taken
// apart and put together. SampleTable writes it (Slot::key); history and answers go by it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace jetmem {

struct SeriesName {
  std::string family;
  std::vector<std::pair<std::string, std::string>> labels;  // values without escapes

  // Empty where there is no such label.
  std::string_view label(std::string_view name) const;
  std::string key() const;

  bool operator==(const SeriesName&) const = default;
};

// Errors: what is no such name, with where in it.
Result<SeriesName> parse_series_key(std::string_view key);

}  // namespace jetmem
