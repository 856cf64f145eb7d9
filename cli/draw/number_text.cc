// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/number_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "base/text/units.h"
#include "cli/draw/since.h"

namespace jetmem {
namespace {

constexpr const char* kNothing = "-";

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer{};
  // Beyond what a device has; keeps the text within the buffer.
  value = std::clamp(value, -1e18, 1e18);
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return {buffer.data(), static_cast<std::size_t>(std::max(size, 0))};
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits{" B", " KiB", " MiB", " GiB", " TiB"};
  if (!std::isfinite(bytes)) return kNothing;
  std::size_t unit = 0;
  // 1023.6 MiB would be written as 1024 MiB: the next unit has it.
  while (unit + 1 < kUnits.size() && std::abs(bytes) >= 1023.5) {
    bytes /= 1024;
    ++unit;
  }
  const double size = std::abs(bytes);
  const bool one_digit =
      unit > 0 && bytes != std::floor(bytes) && size < (unit >= 3 ? 99.95 : 9.95);
  return fixed(bytes, one_digit ? 1 : 0) + kUnits[unit];
}
std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
std::string bytes_text(const std::optional<double>& bytes) {
  return bytes ? bytes_text(*bytes) : kNothing;
}

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio)) return kNothing;
  const double percent = ratio * 100;
  if (percent > 0 && percent < 0.1) return "under 0.1%";
  const bool one_digit = std::abs(percent) < 0.95 && percent != 0;
  return fixed(percent, one_digit ? 1 : 0) + "%";
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? ratio_text(*ratio) : kNothing;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return kNothing;
  if (seconds < 0) return "-" + duration_text(-seconds);
  if (seconds > 0 && seconds < 0.001) return "under 1ms";
  if (seconds < 0.1) return format_duration(std::chrono::milliseconds(std::llround(seconds * 1e3)));
  if (seconds < 1) return fixed(seconds, 2) + "s";
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e12)));
  struct Unit {
    std::uint64_t seconds;
    char name;
  };
  constexpr std::array<Unit, 4> kUnits{{{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}}};
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    if (whole < kUnits[i].seconds) continue;
    std::string out = std::to_string(whole / kUnits[i].seconds) + kUnits[i].name;
    const std::uint64_t rest = whole % kUnits[i].seconds / kUnits[i + 1].seconds;
    if (rest > 0) out += std::to_string(rest) + kUnits[i + 1].name;
    return out;
  }
  return std::to_string(whole) + "s";
}

std::string rate_text(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return kNothing;
  const RateUnit unit = rate_unit(bytes_per_second);
  return bytes_text(bytes_per_second * unit.seconds) + unit.name;
}

std::string moment_text(double wall, const std::optional<double>& now) {
  if (!std::isfinite(wall)) return kNothing;
  if (!now) return local_time(wall_clock(wall));
  std::string out = local_time_short(wall_clock(wall), wall_clock(*now));
  if (*now - wall >= 1) return out + " (" + duration_text(*now - wall) + " ago)";
  return out;
}

std::string celsius_text(double celsius) {
  if (!std::isfinite(celsius)) return kNothing;
  return fixed(celsius, celsius == std::floor(celsius) ? 0 : 1) + " C";
}

std::string hertz_text(double hertz) {
  if (!std::isfinite(hertz)) return kNothing;
  if (hertz >= 1e9) return fixed(hertz / 1e9, 2) + " GHz";
  if (hertz >= 1e6) return fixed(hertz / 1e6, 0) + " MHz";
  if (hertz >= 1e3) return fixed(hertz / 1e3, 0) + " kHz";
  return fixed(hertz, 0) + " Hz";
}

std::string watts_text(double watts) {
  if (!std::isfinite(watts)) return kNothing;
  return fixed(watts, std::abs(watts) < 1 ? 2 : 1) + " W";
}

std::string number_text(double number) {
  if (!std::isfinite(number)) return kNothing;
  std::string out = fixed(number, number == std::floor(number) ? 0 : 2);
  if (out.find('.') != std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
  }
  return out;
}

}  // namespace jetmem
