#include "cli/plot_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace jetmem {
namespace {

double nice_step(double rough, bool binary) {
  if (binary && rough >= 1) return std::exp2(std::ceil(std::log2(rough)));
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

constexpr double kDay = 86400;
constexpr std::array<double, 21> kTimeSteps{
    1,    2,    5,    10,        15,        30,         60,   120,      300,      600,      900,
    1800, 3600, 7200, 3 * 3600., 6 * 3600., 12 * 3600., kDay, 2 * kDay, 7 * kDay, 28 * kDay};

std::tm local(double time) {
  const auto whole = static_cast<std::time_t>(std::floor(time));
  std::tm parts{};
  ::localtime_r(&whole, &parts);
  return parts;
}

std::string formatted(const std::tm& parts, const char* format) {
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

ValueScale value_scale(double least, double greatest, std::size_t most, bool binary) {
  most = std::max<std::size_t>(most, 1);
  double spread = greatest - least;
  // Nothing moves, or by less than a double tells: the line goes through the middle.
  const double size = std::max(std::fabs(least), std::fabs(greatest));
  if (!(spread > size * 1e-12)) {
    spread = size > 0 ? size * 0.1 : 1;
    if (least != 0) least -= spread / 2;
    greatest += spread / 2;
  }
  // What never falls below 0 and comes near it is shown from 0 on.
  if (least > 0 && least < 0.25 * greatest) least = 0;
  ValueScale out;
  out.step = nice_step((greatest - least) / static_cast<double>(most), binary);
  for (int i = 0; i < 4; ++i) {
    out.low = std::floor(least / out.step + 1e-9) * out.step;
    out.high = std::ceil(greatest / out.step - 1e-9) * out.step;
    if (out.high <= out.low) out.high = out.low + out.step;
    if ((out.high - out.low) / out.step <= static_cast<double>(most) + 1e-6) break;
    out.step = nice_step(out.step * 1.01, binary);
  }
  return out;
}

std::vector<TimeTick> time_ticks(double from, double to, std::size_t most) {
  std::vector<TimeTick> out;
  if (!(to > from) || most == 0) return out;
  double step = kTimeSteps.back();
  for (const double each : kTimeSteps) {
    if ((to - from) / each <= static_cast<double>(most)) {
      step = each;
      break;
    }
  }
  std::string day;
  double clock = std::ceil((from + static_cast<double>(local(from).tm_gmtoff)) / step) * step;
  for (std::size_t i = 0; i <= most + 1; ++i, clock += step) {
    // Twice, as the offset may be another one there.
    double time = clock - static_cast<double>(local(clock).tm_gmtoff);
    time = clock - static_cast<double>(local(time).tm_gmtoff);
    if (time > to) break;
    if (time < from) continue;
    const std::tm parts = local(time);
    TimeTick tick;
    tick.time = time;
    if (step < kDay) tick.clock = formatted(parts, step < 60 ? "%H:%M:%S" : "%H:%M");
    tick.date = formatted(parts, "%b %d");
    if (tick.date == day) {
      tick.date.clear();
    } else {
      day = tick.date;
    }
    out.push_back(std::move(tick));
  }
  return out;
}

}  // namespace jetmem
