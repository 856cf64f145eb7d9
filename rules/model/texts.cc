// SPDX-License-Identifier: Apache-2.0
#include "rules/model/texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "metrics/sample.h"

namespace jetmem {
namespace {

template <class... A>
std::string print(const char* format, A... values) {
  std::array<char, 64> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), format, values...);
  return {buffer.data(), static_cast<std::size_t>(std::max(n, 0))};
}

std::string special(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

// At most three significant digits: "0.0123", "12.3", "51800". Rounds first, so that 999.6 becomes
// 1000 and takes the next unit.
double rounded(double value) { return std::strtod(print("%.2e", value).c_str(), nullptr); }
std::string digits(double value) {
  std::string out =
      print(std::abs(value) >= 1e15 || std::abs(value) < 1e-4 ? "%.3g" : "%.15g", value);
  return out == "-0" ? "0" : out;
}

// "71,800"
std::string grouped(double value) {
  std::string out = digits(rounded(value));
  const bool is_whole = out.find_first_of(".e") == std::string::npos;
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = out.size(); is_whole && at > first + 3;) out.insert(at -= 3, ",");
  return out;
}

std::string with_prefix(double value, double step, std::initializer_list<const char*> prefixes) {
  auto prefix = prefixes.begin();
  while (std::abs(rounded(value)) >= 1000 && prefix + 1 != prefixes.end()) {
    value /= step;
    ++prefix;
  }
  return grouped(value) + *prefix;
}

// "2 h 26 min", "45 s": the two largest units.
std::string duration(double seconds) {
  const std::string sign = seconds < 0 ? "-" : "";
  const double size = std::abs(seconds);
  if (size < 1) return sign + with_prefix(size, 1, {" s"});
  if (size < 59.5) return sign + print("%.0f s", size);
  // More whole seconds than a number can count.
  if (size >= 9e15) return sign + digits(rounded(size / 86400)) + " d";
  constexpr std::array<std::pair<long long, const char*>, 4> kUnits{
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  const auto whole = static_cast<long long>(std::round(size));
  std::size_t i = 0;
  while (whole < kUnits[i].first) ++i;
  std::string out = print("%s%lld %s", sign.c_str(), whole / kUnits[i].first, kUnits[i].second);
  const long long rest = whole % kUnits[i].first / kUnits[i + 1].first;
  return rest == 0 ? out : out + print(" %lld %s", rest, kUnits[i + 1].second);
}

}  // namespace

std::vector<TextPart> split_text(std::string_view text) {
  std::vector<TextPart> parts;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) {
      const bool stray = open != std::string_view::npos;
      if (stray && open > 0) parts.push_back({TextPart::Kind::kPlain, text.substr(0, open)});
      parts.push_back({stray ? TextPart::Kind::kUnknown : TextPart::Kind::kPlain,
                       stray ? text.substr(open + 2) : text});
      break;
    }
    if (open > 0) parts.push_back({TextPart::Kind::kPlain, text.substr(0, open)});
    std::string_view inside = trim(text.substr(open + 2, close - open - 2));
    if (inside == "value") {
      parts.push_back({TextPart::Kind::kValue, inside});
    } else if (take_prefix(inside, "labels.")) {
      parts.push_back({TextPart::Kind::kLabel, inside});
    } else {
      parts.push_back({TextPart::Kind::kUnknown, inside});
    }
    text.remove_prefix(close + 2);
  }
  return parts;
}

ValueUnit value_unit(const Condition& condition) {
  const std::string_view unit = unit_of(condition.metric);
  const Function f = condition.function;
  if (f == Function::kChanges || f == Function::kAbsent) return ValueUnit::kPlain;
  // "_bytes_per_second" ends in seconds and is none.
  const bool is_rate = condition.metric.find("_per_second") != std::string::npos;
  if (f == Function::kRate || f == Function::kSlope || is_rate) {
    const bool bytes = condition.metric.find("_bytes") != std::string::npos;
    return bytes ? ValueUnit::kBytesPerSecond : ValueUnit::kPlain;
  }
  const bool is_change = f == Function::kIncrease || f == Function::kDelta;
  if (condition.metric.ends_with("_distance_bytes") && !is_change) return ValueUnit::kBytesAbove;
  if (condition.metric.ends_with("_margin_celsius") && !is_change) return ValueUnit::kCelsiusBelow;
  if (unit == "celsius") return ValueUnit::kCelsius;
  if (unit == "bytes") return ValueUnit::kBytes;
  if (unit == "ratio") return ValueUnit::kRatio;
  if (unit == "seconds") return ValueUnit::kSeconds;
  return ValueUnit::kPlain;
}

ValueUnit threshold_unit(const Condition& condition) {
  const ValueUnit unit = value_unit(condition);
  if (unit == ValueUnit::kBytesAbove) return ValueUnit::kBytes;
  if (unit == ValueUnit::kCelsiusBelow) return ValueUnit::kCelsius;
  return unit;
}

std::string show_value(double value, ValueUnit unit) {
  if (!std::isfinite(value)) return special(value);
  const auto bytes = [](double size) {
    return with_prefix(size, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"});
  };
  switch (unit) {
    case ValueUnit::kBytes:
      return bytes(value);
    case ValueUnit::kBytesPerSecond: {
      const RateUnit rate = rate_unit(value);
      return bytes(value * rate.seconds) + rate.name;
    }
    case ValueUnit::kBytesAbove:
      return bytes(std::abs(value)) + (value < 0 ? " below" : " above");
    case ValueUnit::kCelsius:
      return grouped(value) + " C";
    case ValueUnit::kCelsiusBelow:
      return grouped(std::abs(value)) + (value < 0 ? " C above" : " C below");
    case ValueUnit::kRatio:
      return grouped(value * 100) + "%";
    case ValueUnit::kSeconds:
      return duration(value);
    case ValueUnit::kPlain:
      break;
  }
  return grouped(value);
}

namespace {

// A blank between two labels is there where both are: one of unit and container may be empty.
bool is_between_labels(const std::vector<TextPart>& parts, std::size_t i) {
  return parts[i].text == " " && i > 0 && i + 1 < parts.size() &&
         parts[i - 1].kind == TextPart::Kind::kLabel && parts[i + 1].kind == TextPart::Kind::kLabel;
}

}  // namespace

std::string fill_text(std::string_view text, double value, ValueUnit unit, const Labels& labels) {
  const std::vector<TextPart> parts = split_text(text);
  const auto is_given = [&](std::string_view label) {
    return std::any_of(labels.begin(), labels.end(), [&](const auto& each) {
      return each.first == label && !each.second.empty();
    });
  };
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TextPart& part = parts[i];
    switch (part.kind) {
      case TextPart::Kind::kPlain:
        if (is_between_labels(parts, i) &&
            !(is_given(parts[i - 1].text) && is_given(parts[i + 1].text))) {
          break;
        }
        out.append(part.text);
        break;
      case TextPart::Kind::kValue:
        out.append(show_value(value, unit));
        break;
      case TextPart::Kind::kLabel:
        for (const auto& [name, label] : labels) {
          if (name == part.text) out.append(label);
        }
        break;
      case TextPart::Kind::kUnknown:
        break;
    }
  }
  return out;
}

namespace {

std::string_view prometheus_function(ValueUnit unit) {
  switch (unit) {
    case ValueUnit::kBytes:
      return "humanize1024 }}B";
    case ValueUnit::kBytesPerSecond:
      return "humanize1024 }}B/s";
    case ValueUnit::kBytesAbove:
      return "humanize1024 | reReplaceAll \"^-\" \"\" }}B {{ if lt $value 0.0 }}below{{ else "
             "}}above{{ end }}";
    case ValueUnit::kRatio:
      return "humanizePercentage }}";
    case ValueUnit::kSeconds:
      return "humanizeDuration }}";
    case ValueUnit::kCelsius:
      return "humanize }} C";
    case ValueUnit::kCelsiusBelow:
      return "humanize | reReplaceAll \"^-\" \"\" }} C {{ if lt $value 0.0 }}above{{ else "
             "}}below{{ end }}";
    case ValueUnit::kPlain:
      break;
  }
  return "humanize }}";
}

}  // namespace

std::string prometheus_text(std::string_view text, ValueUnit unit) {
  const std::vector<TextPart> parts = split_text(text);
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TextPart& part = parts[i];
    switch (part.kind) {
      case TextPart::Kind::kPlain:
        if (is_between_labels(parts, i)) {
          out.append("{{ if and $labels.").append(parts[i - 1].text);
          out.append(" $labels.").append(parts[i + 1].text).append(" }} {{ end }}");
          break;
        }
        out.append(part.text);
        break;
      case TextPart::Kind::kValue:
        out.append("{{ $value | ").append(prometheus_function(unit));
        break;
      case TextPart::Kind::kLabel:
        out.append("{{ $labels.").append(part.text).append(" }}");
        break;
      case TextPart::Kind::kUnknown:
        break;
    }
  }
  return out;
}

}  // namespace jetmem
