// SPDX-License-Identifier: Apache-2.0
#include "base/text/utc_time.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace jetmem {

std::string utc_time(Nanoseconds wall) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(wall);
  const auto t = static_cast<std::time_t>(whole.count());
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall - whole).count();
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(text.data(), size) + fraction.data();
}

std::optional<Nanoseconds> wall_of(double seconds) {
  constexpr double kMost = 2.0 * kLastSecond;
  if (!(seconds >= -kMost && seconds <= kMost)) return std::nullopt;
  return std::chrono::round<Nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace jetmem
