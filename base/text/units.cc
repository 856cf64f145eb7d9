// SPDX-License-Identifier: Apache-2.0
#include "base/text/units.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first, so that formatting finds the shortest spelling; "ms" before "m" and "s".
constexpr std::array<Unit, 5> kTimes{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"ms", 1}, {"m", 60'000}, {"s", 1'000}}};
constexpr std::array<Unit, 7> kSizes{{{"GiB", 1ULL << 30},
                                      {"MiB", 1ULL << 20},
                                      {"KiB", 1ULL << 10},
                                      {"GB", 1'000'000'000},
                                      {"MB", 1'000'000},
                                      {"kB", 1'000},
                                      {"B", 1}}};

template <std::size_t N>
const Unit* take_unit(std::string_view& text, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (take_prefix(text, unit.name)) return &unit;
  }
  return nullptr;
}

tl::unexpected<Error> not_a(std::string_view kind, std::string_view text, std::string_view like) {
  std::string message = "'" + printable(text, 40) + "' is not a ";
  message.append(kind).append("; write one like ").append(like);
  return fail(Errc::kInvalid, std::move(message));
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto bad = [&] { return not_a("duration", text, "500ms, 10s, 5m or 1h30m"); };
  constexpr std::uint64_t kMax = 1000ULL * 86'400'000;  // a thousand days
  std::string_view rest = text;
  std::uint64_t total = 0;
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    if (!is_digit(rest.front())) return bad();
    const auto number = take_u64(rest);
    const Unit* unit = take_unit(rest, kTimes);
    if (!number || unit == nullptr || *number > kMax / unit->factor) return bad();
    total += *number * unit->factor;
    if (total > kMax) return bad();
  }
  return std::chrono::milliseconds(total);
}

std::string format_duration(std::chrono::milliseconds duration) {
  auto rest = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
  if (rest == 0) return "0s";
  std::string out;
  for (const std::string_view name : {"d", "h", "m", "s", "ms"}) {
    for (const Unit& unit : kTimes) {
      if (unit.name != name || rest < unit.factor) continue;
      out.append(std::to_string(rest / unit.factor)).append(name);
      rest %= unit.factor;
    }
  }
  return out;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [&] { return not_a("size", text, "512KiB or 64MiB"); };
  std::string_view rest = text;
  if (rest.empty() || !is_digit(rest.front())) return bad();
  const auto number = take_u64(rest);
  if (!number) return bad();
  double part = 0;
  if (take_prefix(rest, ".")) {
    const std::size_t digits = rest.size();
    if (rest.empty() || !is_digit(rest.front())) return bad();
    const auto decimals = take_u64(rest);
    if (!decimals) return bad();
    part = static_cast<double>(*decimals) / std::pow(10, digits - rest.size());
  }
  skip_blanks(rest);
  const Unit* unit = take_unit(rest, kSizes);
  if (unit == nullptr || !rest.empty() || *number > (1ULL << 60) / unit->factor) return bad();
  return *number * unit->factor +
         static_cast<std::uint64_t>(std::llround(part * static_cast<double>(unit->factor)));
}

std::string format_size(std::uint64_t bytes) {
  for (const std::string_view name : {"GiB", "MiB", "KiB"}) {
    for (const Unit& unit : kSizes) {
      if (unit.name == name && bytes >= unit.factor && bytes % unit.factor == 0) {
        return std::to_string(bytes / unit.factor).append(name);
      }
    }
  }
  return std::to_string(bytes) + "B";
}

RateUnit rate_unit(double bytes_per_second) {
  constexpr double kMiB = 1U << 20;
  const double size = std::abs(bytes_per_second);
  if (size >= kMiB) return {1, "/s"};
  if (size * 60 >= kMiB) return {60, "/min"};
  return {3600, "/h"};
}

}  // namespace jetmem
