// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "base/text/units.h"

namespace jetmem::doctor {
namespace {

std::string printed(const char* format, int digits, double value) {
  std::array<char, 64> out{};
  const int n = std::snprintf(out.data(), out.size(), format, digits, value);
  return {out.data(), static_cast<std::size_t>(std::clamp(n, 0, 63))};
}

}  // namespace

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "unknown";
  std::string out = printed("%.*f", digits, value);
  if (out.find('.') != std::string::npos) {
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
  }
  return out == "-0" ? "0" : out;
}

std::string bytes(double value) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (!std::isfinite(value)) return "unknown";
  std::size_t unit = 0;
  // 1000 and not 1024: "1000 KiB" would take four digits where "1 MiB" will do.
  while (std::fabs(value) >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return number(value, std::fabs(value) < 10 && unit > 0 ? 1 : 0) + " " + kUnits[unit];
}

std::string rate(double bytes_per_second) {
  const RateUnit unit = rate_unit(bytes_per_second);
  return bytes(bytes_per_second * unit.seconds) + unit.name;
}

std::string share(double ratio) { return number(ratio * 100, ratio < 0.1 ? 1 : 0) + "%"; }

std::string span(double seconds) {
  const auto part = [](std::int64_t n, const char* unit) {
    return n == 0 ? std::string() : " " + std::to_string(n) + " " + unit;
  };
  const auto s = static_cast<std::int64_t>(std::clamp(std::round(seconds), 0.0, 1e10));
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7200) return std::to_string((s + 30) / 60) + " min";
  if (s < std::int64_t{2} * 86400)
    return std::to_string(s / 3600) + " h" + part(s % 3600 / 60, "min");
  return std::to_string(s / 86400) + " d" + part(s % 86400 / 3600, "h");
}

std::string count(double value) {
  std::string out = number(std::round(value), 0);
  if (!std::isfinite(value)) return out;
  for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) {
    out.insert(static_cast<std::size_t>(at), ",");
  }
  return out;
}

std::string counted(double value, const char* one, const char* many) {
  return count(value) + " " + (value == 1 ? one : many);
}

std::string repeated(std::uint64_t times, double seconds) {
  std::string out = "x" + count(static_cast<double>(times));
  if (seconds >= 1) out += " over " + span(seconds);
  return out;
}

std::string about(double seconds) {
  if (seconds < 5400) return "about " + span(seconds);
  return seconds < 172800 ? "about " + number(seconds / 3600, 1) + " h"
                          : "about " + number(seconds / 86400, 1) + " d";
}

std::string sentence(std::string clause) {
  for (const std::string_view ours : {"at ", "the ", "available ", "contiguous ", "a CMA ",
                                      "an unidentified ", "unattributed "}) {
    if (clause.rfind(ours, 0) == 0) clause.front() = static_cast<char>(clause.front() - 32);
  }
  if (!clause.empty() && clause.back() != '.') clause += '.';
  return clause;
}

std::string moment(double wall, std::optional<double> now) {
  const auto split = [](double at) {
    std::tm out{};
    const auto whole = static_cast<std::time_t>(std::clamp(std::floor(at), 0.0, 9e9));
    ::localtime_r(&whole, &out);
    return out;
  };
  const std::tm then = split(wall);
  bool same_day = false;
  if (now) {
    const std::tm today = split(*now);
    same_day = today.tm_yday == then.tm_yday && today.tm_year == then.tm_year;
  }
  std::array<char, 64> out{};
  const char* const format = same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S";
  return {out.data(), std::strftime(out.data(), out.size(), format, &then)};
}

Zone local_zone() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> name{};
  return {{name.data(), std::strftime(name.data(), name.size(), "%Z", &local)},
          static_cast<double>(local.tm_gmtoff)};
}

Nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::round<Nanoseconds>(
      std::chrono::duration<double>(std::clamp(seconds, -9e9, 9e9)));
}

}  // namespace jetmem::doctor
