// SPDX-License-Identifier: Apache-2.0
#include "config/number.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "base/text/units.h"

namespace jetmem {

std::optional<RuleNumber> parse_rule_number(std::string_view text) {
  double value = 0;
  std::string_view digits = text;
  const bool percent = !digits.empty() && digits.back() == '%';
  if (percent) digits.remove_suffix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                            std::chars_format::general);
  if (error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value)) {
    // Dividing keeps 95% the same double as 0.95.
    if (percent) return RuleNumber{value / 100, NumberUnit::kPercent};
    return RuleNumber{value, NumberUnit::kPlain};
  }
  if (percent) return std::nullopt;
  const bool negative = text.starts_with('-');
  const double sign = negative ? -1 : 1;
  if (negative) text.remove_prefix(1);
  if (const auto size = parse_size(text)) {
    return RuleNumber{sign * static_cast<double>(*size), NumberUnit::kSize};
  }
  if (const auto time = parse_duration(text)) {
    return RuleNumber{sign * std::chrono::duration<double>(*time).count(), NumberUnit::kTime};
  }
  return std::nullopt;
}

}  // namespace jetmem
