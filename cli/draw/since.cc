// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/since.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/text/text.h"
#include "base/text/units.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

// The year 2255: later times do not fit in nanoseconds.
constexpr std::int64_t kMostSeconds = 9'000'000'000;

std::time_t whole_seconds(Nanoseconds wall) {
  return static_cast<std::time_t>(std::chrono::floor<seconds>(wall).count());
}

std::tm local(Nanoseconds wall, ZoneOffset zone = {}) {
  // Further from UTC than any place is.
  constexpr double kMostOffset = 86'400;
  std::time_t t = whole_seconds(wall);
  std::tm parts{};
  if (zone) {
    t += static_cast<std::time_t>(std::clamp(*zone, -kMostOffset, kMostOffset));
    ::gmtime_r(&t, &parts);
  } else {
    ::localtime_r(&t, &parts);
  }
  return parts;
}

// Exactly `digits` digits, at most `max`.
std::optional<int> take_digits(std::string_view& text, std::size_t digits, int max) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  if (value > max) return std::nullopt;
  return value;
}

bool take_date(std::string_view& text, std::tm& parts) {
  const auto year = take_digits(text, 4, 9999);
  if (!year || !take_prefix(text, "-")) return false;
  const auto month = take_digits(text, 2, 12);
  if (!month || !take_prefix(text, "-")) return false;
  const auto day = take_digits(text, 2, 31);
  if (!day || *month == 0 || *day == 0) return false;
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  return true;
}

bool take_time(std::string_view& text, std::tm& parts) {
  const auto hour = take_digits(text, 2, 23);
  if (!hour || !take_prefix(text, ":")) return false;
  const auto minute = take_digits(text, 2, 59);
  if (!minute) return false;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  if (take_prefix(text, ":")) {
    const auto second = take_digits(text, 2, 60);
    if (!second) return false;
    parts.tm_sec = *second;
  }
  return true;
}

std::optional<Nanoseconds> moment(std::string_view text, Nanoseconds now) {
  if (take_prefix(text, "@")) {
    const auto unix_time = parse_u64(text);
    if (!unix_time || *unix_time > kMostSeconds) return std::nullopt;
    return seconds(static_cast<std::int64_t>(*unix_time));
  }
  if (text == "now") return now;
  std::tm parts = local(now);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_isdst = -1;
  if (text == "today" || text == "yesterday") {
    if (text == "yesterday") --parts.tm_mday;
    const std::time_t midnight = std::mktime(&parts);
    if (midnight < 0) return std::nullopt;
    return seconds(midnight);
  }
  const bool dated = text.size() >= 10;
  if (dated && !take_date(text, parts)) return std::nullopt;
  const int day = parts.tm_mday;
  if (!dated || !text.empty()) {
    if (dated && !take_prefix(text, " ") && !take_prefix(text, "T")) return std::nullopt;
    if (!take_time(text, parts) || !text.empty()) return std::nullopt;
  }
  const std::tm given = parts;
  std::time_t t = std::mktime(&parts);
  // mktime makes the 2nd of March of the 30th of February.
  if (t < 0 || parts.tm_mday != day) return std::nullopt;
  // Just after midnight, 23:00 was last night.
  if (!dated && seconds(t) > now) {
    parts = given;
    --parts.tm_mday;
    t = std::mktime(&parts);
    if (t < 0) return std::nullopt;
  }
  return seconds(std::min<std::int64_t>(t, kMostSeconds));
}

// "2w" and "1w3d"; weeks are nothing that settings have.
std::optional<Nanoseconds> weeks(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto count = take_u64(text);
  if (!count || *count > 100 || !take_prefix(text, "w")) return std::nullopt;
  Nanoseconds total = std::chrono::hours(24 * 7) * static_cast<int>(*count);
  if (text.empty()) return total;
  const auto rest = parse_duration(text);
  if (!rest) return std::nullopt;
  return total + Nanoseconds(*rest);
}

}  // namespace

std::string format_time(const std::tm& parts, const char* format) {
  std::array<char, 64> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

Result<Since> parse_since(std::string_view text, Nanoseconds now) {
  Since since;
  if (const auto duration = parse_duration(text)) {
    since.ago = *duration;
    return since;
  }
  since.ago = weeks(text);
  if (since.ago) return since;
  since.at = moment(text, now);
  if (!since.at) {
    return fail(Errc::kInvalid, "'" + printable(text, 40) +
                                    "' is not a time; write one like 10m, 1h30m, 02:00, "
                                    "'2026-11-20 02:00' or @1790000000");
  }
  if (*since.at > now) {
    return fail(Errc::kInvalid, "'" + printable(text, 40) + "' is in the future: it is " +
                                    local_time(now) + " now");
  }
  return since;
}

Nanoseconds wall_clock(double seconds) {
  return std::chrono::round<Nanoseconds>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 9e9)));
}

std::string local_time(Nanoseconds wall, ZoneOffset zone) {
  return format_time(local(wall, zone), "%Y-%m-%d %H:%M:%S");
}

std::string local_time_short(Nanoseconds wall, Nanoseconds of, ZoneOffset zone) {
  const std::tm parts = local(wall, zone);
  const std::tm other = local(of, zone);
  const bool same_day = parts.tm_yday == other.tm_yday && parts.tm_year == other.tm_year;
  return format_time(parts, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S");
}

std::string time_zone_text(std::string_view name, double offset) {
  const int minutes = static_cast<int>(offset / 60);
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "UTC%c%02d:%02d", minutes < 0 ? '-' : '+',
                std::abs(minutes) / 60 % 100, std::abs(minutes) % 60);
  if (name == "UTC") return "UTC";
  return printable(name, 32) + " (" + text.data() + ")";
}

std::string time_zone_text() {
  const std::tm now = local(SystemClock().wall());
  return time_zone_text(format_time(now, "%Z"), static_cast<double>(now.tm_gmtoff));
}

}  // namespace jetmem
