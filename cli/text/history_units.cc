// SPDX-License-Identifier: Apache-2.0
#include "cli/text/history_units.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/text/utc_time.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "metrics/sample.h"

namespace jetmem {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer{};
  // Large numbers need no decimals.
  const bool is_huge = !(std::fabs(value) < 1e15);
  const int size = is_huge ? std::snprintf(buffer.data(), buffer.size(), "%.4g", value)
                           : std::snprintf(buffer.data(), buffer.size(), "%.*f",
                                           std::clamp(digits, 0, 9), value);
  return {buffer.data(), static_cast<std::size_t>(std::max(size, 0))};
}

// Digits behind the point that a multiple of `step` needs, three at most.
int digits_of(double step) {
  int digits = 0;
  while (digits < 3 && std::fabs(step - std::round(step)) > 1e-6 * std::fabs(step)) {
    step *= 10;
    ++digits;
  }
  return digits;
}

// What has prefixes: value and step in the largest one that leaves the value at least 1.
template <std::size_t N>
std::string scaled(double value, double step, double base,
                   const std::array<std::string_view, N>& units) {
  std::size_t unit = 0;
  const double size = std::max(std::fabs(value), step);
  double factor = 1;
  while (unit + 1 < N && size / factor >= base) {
    factor *= base;
    ++unit;
  }
  return fixed(value / factor, digits_of(step / factor)) + " " + std::string(units[unit]);
}

constexpr std::array<std::string_view, 5> kBytes{"B", "KiB", "MiB", "GiB", "TiB"};
constexpr std::array<std::string_view, 4> kHertz{"Hz", "kHz", "MHz", "GHz"};

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == std::floor(value) && std::fabs(value) < 1e15) return fixed(value, 0);
  const double size = std::fabs(value);
  if (size >= 1000) return fixed(value, 0);
  if (size < 1e-4) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.2g", value);
    return buffer.data();
  }
  std::string out = fixed(value, 2 - static_cast<int>(std::floor(std::log10(size))));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

MetricUnit::MetricUnit(std::string_view family, bool is_rate) : is_rate_(is_rate) {
  const std::string_view unit = unit_of(family);
  if (unit == "bytes") kind_ = Kind::kBytes;
  if (unit == "ratio") kind_ = Kind::kRatio;
  if (unit == "seconds") kind_ = Kind::kSeconds;
  if (family.find("_timestamp_seconds") != std::string_view::npos) kind_ = Kind::kMoment;
  if (unit == "celsius") kind_ = Kind::kCelsius;
  if (unit == "hertz") kind_ = Kind::kHertz;
  if (unit == "watts") kind_ = Kind::kWatts;
}

std::string MetricUnit::plain(double value) const {
  switch (kind_) {
    case Kind::kBytes:
      return bytes_text(value);
    case Kind::kRatio:
      return short_number(value * 100) + "%";
    case Kind::kSeconds:
      // Seconds a second are a share of the time.
      if (is_rate_) return short_number(value);
      return value < 0 ? "-" + duration_text(-value) : duration_text(value);
    case Kind::kMoment:
      if (const auto wall = wall_of(value)) return local_time(*wall);
      return short_number(value);
    case Kind::kCelsius:
      return celsius_text(value);
    case Kind::kHertz:
      return hertz_text(value);
    case Kind::kWatts:
      return watts_text(value);
    case Kind::kNumber:
      break;
  }
  return short_number(value);
}

std::string MetricUnit::text(double value) const {
  if (is_rate_ && kind_ == Kind::kSeconds) return plain(value) + " s/s";
  return plain(value) + (is_rate_ ? "/s" : "");
}

std::string MetricUnit::tick(double value, double step) const {
  const std::string tail = is_rate_ ? "/s" : "";
  switch (kind_) {
    case Kind::kBytes:
      return scaled(value, step, 1024, kBytes) + tail;
    case Kind::kHertz:
      return scaled(value, step, 1000, kHertz) + tail;
    case Kind::kRatio:
      return fixed(value * 100, digits_of(step * 100)) + "%" + tail;
    case Kind::kCelsius:
      return fixed(value, digits_of(step)) + " C" + tail;
    case Kind::kMoment:
    case Kind::kSeconds:
      return step < 1 && !is_rate_ ? fixed(value, digits_of(step)) + "s" : text(value);
    default:
      return fixed(value, step < 1e-3 ? 6 : digits_of(step)) + tail;
  }
}

std::string MetricUnit::per_hour(double change) const {
  const std::string sign = change > 0 ? "+" : "";
  if (kind_ == Kind::kMoment) return sign + short_number(change) + " s/h";
  return sign + text(change) + "/h";
}

}  // namespace jetmem
