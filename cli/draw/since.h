// SPDX-License-Identifier: Apache-2.0
// Moments as people give them on a command line, and as they are shown.
#pragma once

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/text/utc_time.h"

namespace jetmem {

// One of the two.
struct Since {
  std::optional<Nanoseconds> ago;
  std::optional<Nanoseconds> at;  // on the wall clock
};

// "10m", "1h30m", "2w": ago. "now", "today", "yesterday": their beginning. "2026-11-20 02:00[:05]",
// "2026-11-20", "02:00[:05]" (the last one): local time.
// "@1790000000": seconds since 1970. What lies in the future is refused.
Result<Since> parse_since(std::string_view text, Nanoseconds now);

// Seconds since 1970; what lies beyond Nanoseconds is cut to them.
Nanoseconds wall_clock(double seconds);

// As strftime() has it, at most 63 bytes.
std::string format_time(const std::tm& parts, const char* format);
// Seconds east of UTC of another machine; absent: the zone of this one.
using ZoneOffset = std::optional<double>;
// Local time: "2026-11-20 02:11:47".
std::string local_time(Nanoseconds wall, ZoneOffset zone = {});
// "02:11:47", with the date where it is not that of `of`.
std::string local_time_short(Nanoseconds wall, Nanoseconds of, ZoneOffset zone = {});
// "CET (UTC+01:00)": of `name` and its offset, or of this machine now.
std::string time_zone_text(std::string_view name, double offset);
std::string time_zone_text();

}  // namespace jetmem
