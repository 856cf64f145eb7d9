// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/functions.h"

#include <cmath>

namespace jetmem {
namespace {

// Kahan's summation as improved by Neumaier.
struct Sum {
  double sum = 0;
  double lost = 0;

  void add(double x) {
    const double t = sum + x;
    lost += std::abs(sum) >= std::abs(x) ? (sum - t) + x : (x - t) + sum;
    sum = t;
  }
  double total() const { return sum + lost; }
};

double seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

std::optional<double> extrapolated(Function function, std::span<const TimedValue> samples,
                                   std::int64_t now, std::chrono::milliseconds window) {
  if (samples.size() < 2) return std::nullopt;
  const bool is_counter = function != Function::kDelta;
  const TimedValue& first = samples.front();
  const TimedValue& last = samples.back();
  double result = last.value - first.value;
  if (is_counter) {
    double before = first.value;
    for (const TimedValue& sample : samples.subspan(1)) {
      // It fell: it began anew at 0.
      if (sample.value < before) result += before;
      before = sample.value;
    }
  }
  double to_start = seconds(first.at - (now - window.count()));
  const double to_end = seconds(now - last.at);
  const double sampled = seconds(last.at - first.at);
  const double average = sampled / static_cast<double>(samples.size() - 1);
  if (is_counter && result > 0 && first.value >= 0) {
    // It was 0 no earlier than this.
    const double to_zero = sampled * (first.value / result);
    if (to_zero < to_start) to_start = to_zero;
  }
  const double threshold = average * 1.1;
  double extrapolate_to = sampled;
  extrapolate_to += to_start < threshold ? to_start : average / 2;
  extrapolate_to += to_end < threshold ? to_end : average / 2;
  double factor = extrapolate_to / sampled;
  if (function == Function::kRate) factor /= seconds(window.count());
  return result * factor;
}

struct Line {
  double slope = 0;
  double at_origin = 0;
};

Line fit(std::span<const TimedValue> samples, std::int64_t origin) {
  const double first = samples.front().value;
  bool is_constant = true;
  double n = 0;
  Sum x_sum;
  Sum y_sum;
  Sum xy_sum;
  Sum xx_sum;
  for (const TimedValue& sample : samples) {
    is_constant &= sample.value == first;
    n += 1;
    const double x = seconds(sample.at - origin);
    x_sum.add(x);
    y_sum.add(sample.value);
    xy_sum.add(x * sample.value);
    xx_sum.add(x * x);
  }
  if (is_constant) {
    if (std::isinf(first)) return {std::nan(""), std::nan("")};
    return {0, first};
  }
  const double x = x_sum.total();
  const double y = y_sum.total();
  const double covariance = xy_sum.total() - x * y / n;
  const double variance = xx_sum.total() - x * x / n;
  Line line;
  line.slope = covariance / variance;
  line.at_origin = y / n - line.slope * x / n;
  return line;
}

double average(std::span<const TimedValue> samples) {
  double mean = 0;
  double count = 0;
  double lost = 0;
  for (const TimedValue& sample : samples) {
    count += 1;
    if (std::isinf(mean)) {
      if (std::isinf(sample.value) && (mean > 0) == (sample.value > 0)) continue;
      if (std::isfinite(sample.value)) continue;
    }
    Sum sum{mean, lost};
    sum.add(sample.value / count - mean / count);
    mean = sum.sum;
    lost = sum.lost;
  }
  return std::isinf(mean) ? mean : mean + lost;
}

// NaN only where all are.
template <class Beyond>
double extreme(std::span<const TimedValue> samples, Beyond beyond) {
  while (samples.size() > 1 && std::isnan(samples.front().value)) samples = samples.subspan(1);
  double out = samples.front().value;
  for (const TimedValue& sample : samples) out = beyond(sample.value, out) ? sample.value : out;
  return out;
}

}  // namespace

std::optional<double> over_window(Function function, std::span<const TimedValue> samples,
                                  std::int64_t now, std::chrono::milliseconds window,
                                  std::chrono::milliseconds ahead) {
  switch (function) {
    case Function::kRate:
    case Function::kIncrease:
    case Function::kDelta:
      return extrapolated(function, samples, now, window);
    case Function::kSlope:
      if (samples.size() < 2) return std::nullopt;
      return fit(samples, samples.front().at).slope;
    case Function::kPredict: {
      if (samples.size() < 2) return std::nullopt;
      const Line line = fit(samples, now);
      return line.slope * seconds(ahead.count()) + line.at_origin;
    }
    case Function::kAverage:
      return average(samples);
    case Function::kMinimum:
      return extreme(samples, [](double a, double b) { return a < b; });
    case Function::kMaximum:
      return extreme(samples, [](double a, double b) { return a > b; });
    case Function::kChanges: {
      double changes = 0;
      for (std::size_t i = 1; i < samples.size(); ++i) {
        const double a = samples[i - 1].value;
        const double b = samples[i].value;
        if (a != b && !(std::isnan(a) && std::isnan(b))) ++changes;
      }
      return changes;
    }
    case Function::kNone:
    case Function::kAbsent:
      break;
  }
  return std::nullopt;
}

}  // namespace jetmem
