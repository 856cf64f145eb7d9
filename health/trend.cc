// SPDX-License-Identifier: Apache-2.0
#include "health/trend.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace jetmem {
namespace {

constexpr auto kMost = static_cast<std::size_t>(Trend::kMinutes);
constexpr double kMinute = 60;

// The upper one of an even number's two middles.
template <class Number>
Number median(std::span<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Trend::Scratch Trend::make_scratch() { return Scratch(kMost * (kMost - 1) / 2); }

void Trend::clear() { *this = Trend(); }

void Trend::add(Nanoseconds boot_now, double value, Scratch& scratch) {
  const std::int64_t minute = boot_now / std::chrono::minutes(1);
  if (minute != minute_) {
    end_minute(scratch);
    const std::int64_t last = newest_;
    if (last != kNever && (minute < last || minute - last > kLongestGap)) clear();
    minute_ = minute;
  }
  if (seen_count_ == seen_.size()) return;
  if (seen_count_ > 0 && boot_now - seen_at_ < kApart) return;
  seen_[seen_count_++] = value;
  seen_at_ = boot_now;
}

void Trend::end_minute(Scratch& scratch) {
  if (seen_count_ == 0) return;
  const double value = median(std::span(seen_.data(), seen_count_));
  values_[static_cast<std::size_t>(minute_ % kMinutes)] = {minute_, value};
  newest_ = minute_;
  seen_count_ = 0;
  compute(scratch);
}

void Trend::compute(Scratch& scratch) {
  line_.reset();
  std::array<double, kMost> minutes;
  std::array<double, kMost> values;
  std::size_t count = 0;
  for (std::int64_t minute = std::max<std::int64_t>(newest_ - kMinutes + 1, 0); minute <= newest_;
       ++minute) {
    const Value& at = values_[static_cast<std::size_t>(minute % kMinutes)];
    if (at.minute != minute) continue;
    minutes[count] = static_cast<double>(minute);
    values[count++] = at.value;
  }
  if (count < kLeastValues || minutes[count - 1] - minutes[0] < kLeastSpan - 1) return;

  std::size_t pairs = 0;
  std::int64_t rising = 0;  // less those that fall
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double rise = values[i] - values[j];
      rising += static_cast<int>(rise > 0) - static_cast<int>(rise < 0);
      scratch[pairs++] = static_cast<float>(rise / (minutes[i] - minutes[j]));
    }
  }
  const double slope = median(std::span(scratch.data(), pairs));
  TrendLine& line = line_.emplace();
  line.slope = slope / kMinute;
  line.last = values[count - 1];
  if (slope == 0) return;
  const double agreement =
      static_cast<double>(slope > 0 ? rising : -rising) / static_cast<double>(pairs);
  line.fit = std::clamp(agreement, 0.0, 1.0);
  const std::size_t newest = count - count * 2 / 5;
  pairs = 0;
  for (std::size_t i = newest; i < count; ++i) {
    for (std::size_t j = newest; j < i; ++j) {
      scratch[pairs++] = static_cast<float>((values[i] - values[j]) / (minutes[i] - minutes[j]));
    }
  }
  line.newest_slope = median(std::span(scratch.data(), pairs)) / kMinute;
}

}  // namespace jetmem
