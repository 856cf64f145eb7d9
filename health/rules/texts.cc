#include "health/rules/texts.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/sample.h"
#include "base/text.h"

namespace jetmem {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <class... A>
std::string print(const char* format, A... values) {
  std::array<char, 64> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), format, values...);
  return {buffer.data(), static_cast<std::size_t>(std::max(n, 0))};
}

// Go prints these its own way.
bool is_special(double value) { return !std::isfinite(value); }
std::string special(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

// Go's %.4g: an exponent from 21 digits on would differ, which no value here reaches after scaling.
std::string four_digits(double value) { return print("%.4g", value); }

std::string humanize1024(double value) {
  if (is_special(value)) return special(value);
  if (std::abs(value) <= 1) return four_digits(value);
  const char* prefix = "";
  for (const char* p : {"ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}) {
    if (std::abs(value) < 1024) break;
    prefix = p;
    value /= 1024;
  }
  return four_digits(value) + prefix;
}

std::string humanize(double value) {
  if (is_special(value)) return special(value);
  if (value == 0) return four_digits(value);
  const char* prefix = "";
  if (std::abs(value) >= 1) {
    for (const char* p : {"k", "M", "G", "T", "P", "E", "Z", "Y"}) {
      if (std::abs(value) < 1000) break;
      prefix = p;
      value /= 1000;
    }
  } else {
    for (const char* p : {"m", "u", "n", "p", "f", "a", "z", "y"}) {
      if (std::abs(value) >= 1) break;
      prefix = p;
      value *= 1000;
    }
  }
  return four_digits(value) + prefix;
}

std::string humanize_duration(double value) {
  if (is_special(value)) return special(value);
  if (value == 0) return four_digits(value) + "s";
  // More whole seconds than a number can count.
  if (std::abs(value) >= 9e18) return four_digits(value) + "s";
  if (std::abs(value) >= 1) {
    const char* sign = value < 0 ? "-" : "";
    const double whole = std::abs(value);
    const auto total = static_cast<long long>(whole);
    const long long seconds = total % 60;
    const long long minutes = total / 60 % 60;
    const long long hours = total / 3600 % 24;
    const long long days = total / 86400;
    if (days != 0) return print("%s%lldd %lldh %lldm %llds", sign, days, hours, minutes, seconds);
    if (hours != 0) return print("%s%lldh %lldm %llds", sign, hours, minutes, seconds);
    if (minutes != 0) return print("%s%lldm %llds", sign, minutes, seconds);
    return four_digits(value) + "s";
  }
  const char* prefix = "";
  for (const char* p : {"m", "u", "n", "p", "f", "a", "z", "y"}) {
    if (std::abs(value) >= 1) break;
    prefix = p;
    value *= 1000;
  }
  return four_digits(value) + prefix + "s";
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
    std::string_view inside = trimmed(text.substr(open + 2, close - open - 2));
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
  if (unit == "bytes") return ValueUnit::kBytes;
  if (unit == "ratio") return ValueUnit::kRatio;
  if (unit == "seconds") return ValueUnit::kSeconds;
  return ValueUnit::kPlain;
}

std::string show_value(double value, ValueUnit unit) {
  switch (unit) {
    case ValueUnit::kBytes:
      return humanize1024(value) + "B";
    case ValueUnit::kBytesPerSecond:
      return humanize1024(value) + "B/s";
    case ValueUnit::kRatio:
      return (is_special(value) ? special(value) : four_digits(value * 100)) + "%";
    case ValueUnit::kSeconds:
      return humanize_duration(value);
    case ValueUnit::kPlain:
      break;
  }
  return humanize(value);
}

std::string fill_text(std::string_view text, double value, ValueUnit unit, const Labels& labels) {
  std::string out;
  for (const TextPart& part : split_text(text)) {
    switch (part.kind) {
      case TextPart::Kind::kPlain:
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

std::string prometheus_text(std::string_view text, ValueUnit unit) {
  std::string out;
  for (const TextPart& part : split_text(text)) {
    switch (part.kind) {
      case TextPart::Kind::kPlain:
        out.append(part.text);
        break;
      case TextPart::Kind::kValue:
        switch (unit) {
          case ValueUnit::kBytes:
            out.append("{{ $value | humanize1024 }}B");
            break;
          case ValueUnit::kBytesPerSecond:
            out.append("{{ $value | humanize1024 }}B/s");
            break;
          case ValueUnit::kRatio:
            out.append("{{ $value | humanizePercentage }}");
            break;
          case ValueUnit::kSeconds:
            out.append("{{ $value | humanizeDuration }}");
            break;
          case ValueUnit::kPlain:
            out.append("{{ $value | humanize }}");
            break;
        }
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
