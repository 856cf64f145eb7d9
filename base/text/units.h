// SPDX-License-Identifier: Apache-2.0
// Durations and sizes as people write them: "10s", "1h30m", "64MiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

// One or more number-unit pairs, units ms, s, m, h and d, without blanks: "500ms", "1h30m".
// A bare number is refused: nobody remembers which unit a setting takes.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

// A number, "2" or "1.5", and one of B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of
// 1024); rounded to whole bytes.
Result<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

// In which time a rate is shown, the same everywhere: "/s", "/min" or "/h", the shortest in which a
// MiB passes.
struct RateUnit {
  double seconds;
  const char* name;
};
RateUnit rate_unit(double bytes_per_second);

}  // namespace jetmem
