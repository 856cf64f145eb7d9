// SPDX-License-Identifier: Apache-2.0
// Files that hold one value, as sysfs and debugfs have them: "42000\n".
//
// The kernel ends each with a newline. Without one the text was cut ("3942" of "39420"), and what
// is left of it is not the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace jetmem {

inline std::optional<std::string_view> one_value(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  return trim(text);
}

inline std::optional<std::uint64_t> one_u64(std::string_view text) {
  const auto value = one_value(text);
  return value ? parse_u64(*value) : std::nullopt;
}

inline std::optional<std::int64_t> one_i64(std::string_view text) {
  const auto value = one_value(text);
  return value ? parse_i64(*value) : std::nullopt;
}

}  // namespace jetmem
