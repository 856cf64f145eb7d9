// The texts of a rule: {{ value }} and {{ labels.x }} filled in, as Prometheus' templates would.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/rules.h"

namespace jetmem {

struct TextPart {
  enum class Kind { kPlain, kValue, kLabel, kUnknown };
  Kind kind = Kind::kPlain;
  std::string_view text;  // plain text, a label's name, or what stands between the braces
};

std::vector<TextPart> split_text(std::string_view text);

// How a rule's value is shown: by the unit of its first condition's metric and function.
enum class ValueUnit : std::uint8_t { kPlain, kBytes, kRatio, kSeconds, kBytesPerSecond };
ValueUnit value_unit(const Condition& condition);

// "9.437MiB", "93%", "1h 2m 3s", "42": what Prometheus' humanize1024, humanizePercentage,
// humanizeDuration and humanize make of it, with the unit.
std::string show_value(double value, ValueUnit unit);

using Labels = std::vector<std::pair<std::string, std::string>>;

// A label that is not there is "".
std::string fill_text(std::string_view text, double value, ValueUnit unit, const Labels& labels);

// The same text for Prometheus: {{ $value | humanize1024 }}B, {{ $labels.area }}.
std::string prometheus_text(std::string_view text, ValueUnit unit);

}  // namespace jetmem
