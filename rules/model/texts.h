// SPDX-License-Identifier: Apache-2.0
// The texts of a rule: {{ value }} and {{ labels.x }} filled in, and the same as a Prometheus
// template.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/model/rules.h"

namespace jetmem {

struct TextPart {
  enum class Kind { kPlain, kValue, kLabel, kUnknown };
  Kind kind = Kind::kPlain;
  std::string_view text;  // plain text, a label's name, or what stands between the braces
};

std::vector<TextPart> split_text(std::string_view text);

// How to show a rule's value: by the unit of its first condition's metric and function.
// Of a distance from a limit its side is shown, too.
enum class ValueUnit : std::uint8_t {
  kPlain,
  kBytes,
  kRatio,
  kSeconds,
  kCelsius,
  kBytesPerSecond,
  kBytesAbove,
  kCelsiusBelow,
};
ValueUnit value_unit(const Condition& condition);
// Of the condition's threshold, which has no side.
ValueUnit threshold_unit(const Condition& condition);

// "9.44 MiB", "93%", "1 h 2 min", "71,800", "5.86 MiB below": at most three significant digits.
std::string show_value(double value, ValueUnit unit);

using Labels = std::vector<std::pair<std::string, std::string>>;

// A label that is not there is "".
std::string fill_text(std::string_view text, double value, ValueUnit unit, const Labels& labels);

// The same text for Prometheus: {{ $value | humanize1024 }}B, {{ $labels.area }}.
std::string prometheus_text(std::string_view text, ValueUnit unit);

}  // namespace jetmem
