// SPDX-License-Identifier: Apache-2.0
// Numbers as people write them in files of rules and plans: "95%", "12MiB", "10m", "-3.5".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace jetmem {

// The unit that a number was written with. A plain one fits everything.
enum class NumberUnit : std::uint8_t { kPlain, kPercent, kSize, kTime };
struct RuleNumber {
  double value = 0;  // in base units
  NumberUnit unit = NumberUnit::kPlain;
};
// "95%", "12MiB", "10m", "-3.5".
std::optional<RuleNumber> parse_rule_number(std::string_view text);

}  // namespace jetmem
