// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/values.h"

#include <algorithm>
#include <initializer_list>

namespace jetmem::tegrastats {
namespace {

constexpr std::uint32_t kMaxDegrees = 1000;

// One character, and the spaces around it that people put there.
bool take_spaced(std::string_view& at, std::string_view c) {
  std::string_view after = at;
  skip_spaces(after);
  if (!take_prefix(after, c)) return false;
  skip_spaces(after);
  at = after;
  return true;
}

// A unit that is the rest of its word, perhaps behind spaces.
bool take_unit(std::string_view& at, std::initializer_list<std::string_view> names) {
  std::string_view after = at;
  skip_spaces(after);
  const bool apart = after.size() != at.size();
  for (const std::string_view name : names) {
    std::string_view behind = after;
    if (!take_prefix(behind, name)) continue;
    const bool ends = behind.empty() || !(is_letter(behind.front()) || is_digit(behind.front()));
    if (!ends && apart) continue;
    at = behind;
    return true;
  }
  return false;
}
bool take_mb(std::string_view& at) { return take_unit(at, {"MiB", "MB", "Mb", "mb"}); }

// A clock for each GPC, behind the bracket.
bool take_clocks(std::string_view& at, std::vector<std::uint32_t>& clocks, std::uint64_t& beyond) {
  std::uint64_t left_out = 0;
  do {
    skip_spaces(at);
    const auto mhz = take_number(at, kMaxMhz);
    if (!mhz) return false;
    skip_spaces(at);
    if (clocks.size() < TegrastatsLine::kMaxGpcs) {
      clocks.push_back(*mhz);
    } else {
      ++left_out;
    }
  } while (take_prefix(at, ","));
  if (!take_prefix(at, "]")) return false;
  beyond += left_out;
  return true;
}

std::optional<TegrastatsLine::Core> take_core(std::string_view& at) {
  TegrastatsLine::Core core;
  if (take_prefix(at, "off")) {
    core.off = true;
    return core;
  }
  core.percent = take_percent(at);
  if (!core.percent) return std::nullopt;
  if (take_spaced(at, "@")) {
    core.mhz = take_number(at, kMaxMhz);
    if (!core.mhz) return std::nullopt;
  }
  return core;
}

std::optional<std::int32_t> take_milliwatts(std::string_view& at, bool& has_unit) {
  const bool negative = take_prefix(at, "-");
  const auto value = take_number(at, kMaxMilliwatts);
  if (!value) return std::nullopt;
  has_unit = take_unit(at, {"mW"}) || has_unit;
  const auto milliwatts = static_cast<std::int32_t>(*value);
  return negative ? -milliwatts : milliwatts;
}

// "kB" as everywhere; "kb" stood on Android.
bool take_kb(std::string_view& at) { return take_unit(at, {"kB", "kb", "KB", "KiB"}); }

// "1873/3830MB", "1873 / 3830 MB", "1873MB/3830MB"
template <class Unit>
bool take_pair(std::string_view& at, std::uint32_t& used, std::uint32_t& total, const Unit& unit) {
  const auto first = take_number(at, kMaxSize);
  if (!first) return false;
  unit(at);
  if (!take_spaced(at, "/")) return false;
  const auto second = take_number(at, kMaxSize);
  if (!second || !unit(at)) return false;
  used = *first;
  total = *second;
  return true;
}

// The part in brackets may be missing, or be none that is known: then `at` stays in front of it.
template <class Take>
void take_brackets(std::string_view& at, std::string_view label, const Take& take) {
  std::string_view inner = at;
  skip_spaces(inner);
  if (!take_spaced(inner, "(") || !take_prefix(inner, label)) return;
  skip_spaces(inner);
  if (take(inner)) at = inner;
}

}  // namespace

std::string_view word(std::string_view at) {
  return at.substr(0, static_cast<std::size_t>(std::ranges::find_if(at, is_space) - at.begin()));
}

void skip_spaces(std::string_view& at) {
  while (!at.empty() && is_space(at.front())) at.remove_prefix(1);
}

bool take_next_word(std::string_view& at, std::string_view text) {
  skip_spaces(at);
  return take_prefix(at, text) && at_word_end(at);
}

std::optional<std::uint32_t> take_number(std::string_view& at, std::uint32_t max) {
  if (at.empty() || !is_digit(at.front())) return std::nullopt;
  const auto value = take_u64(at);
  return value && *value <= max ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

std::optional<std::uint32_t> take_percent(std::string_view& at) {
  const auto percent = take_number(at, kMaxPercent);
  skip_spaces(at);
  if (!percent || !take_prefix(at, "%")) return std::nullopt;
  return percent;
}

std::optional<LoadForm> take_load(std::string_view& at, std::vector<std::uint32_t>* clocks,
                                  std::uint64_t& beyond) {
  LoadForm form;
  if (take_prefix(at, "off")) {
    form.load.off = true;
    return form;
  }
  if (!at.starts_with('@')) {
    const auto number = take_number(at, kMaxMhz);
    if (!number) return std::nullopt;
    std::string_view behind = at;
    skip_spaces(behind);
    if (take_prefix(behind, "%")) {
      at = behind;
    } else {
      form.bare = true;
      form.load.mhz = number;
      if (clocks != nullptr) clocks->push_back(*number);
      return form;
    }
    if (*number > kMaxPercent) return std::nullopt;
    form.load.percent = number;
  }
  if (!take_spaced(at, "@")) return form;
  if (clocks != nullptr && take_prefix(at, "[")) {
    if (!take_clocks(at, *clocks, beyond)) return std::nullopt;
    return form;
  }
  form.load.mhz = take_number(at, kMaxMhz);
  if (!form.load.mhz) return std::nullopt;
  if (clocks != nullptr) clocks->push_back(*form.load.mhz);
  return form;
}

bool take_cores(std::string_view& at, std::vector<TegrastatsLine::Core>& cores,
                std::uint64_t& beyond) {
  if (!take_prefix(at, "[")) return false;
  std::uint64_t left_out = 0;
  do {
    skip_spaces(at);
    const auto core = take_core(at);
    if (!core) return false;
    skip_spaces(at);
    if (cores.size() < TegrastatsLine::kMaxCores) {
      cores.push_back(*core);
    } else {
      ++left_out;
    }
  } while (take_prefix(at, ","));
  if (!take_prefix(at, "]")) return false;
  if (take_spaced(at, "@")) {
    const auto mhz = take_number(at, kMaxMhz);
    if (!mhz) return false;
    for (TegrastatsLine::Core& core : cores) {
      if (!core.off && !core.mhz) core.mhz = mhz;
    }
  }
  beyond += left_out;
  return true;
}

std::optional<double> take_celsius(std::string_view& at) {
  const bool negative = take_prefix(at, "-");
  const auto whole = take_number(at, kMaxDegrees);
  if (!whole) return std::nullopt;
  // Whole numbers up to the last division, so that 47.687 is the double nearest to it.
  std::uint64_t value = *whole;
  std::uint64_t scale = 1;
  if (take_prefix(at, ".")) {
    constexpr std::uint64_t kMaxScale = 1'000'000'000;
    while (!at.empty() && is_digit(at.front())) {
      if (scale == kMaxScale) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(at.front() - '0');
      scale *= 10;
      at.remove_prefix(1);
    }
    if (scale == 1) return std::nullopt;
  }
  if (!take_unit(at, {"C"})) return std::nullopt;
  const double celsius = static_cast<double>(value) / static_cast<double>(scale);
  return negative ? -celsius : celsius;
}

std::optional<RailForm> take_rail(std::string_view& at) {
  RailForm rail;
  const auto now = take_milliwatts(at, rail.has_unit);
  if (!now) return std::nullopt;
  rail.now_mw = *now;
  for (std::optional<std::int32_t>* value : {&rail.average_mw, &rail.max_mw}) {
    if (!take_spaced(at, "/")) break;
    *value = take_milliwatts(at, rail.has_unit);
    if (!*value) return std::nullopt;
  }
  // "716" alone is a clock.
  if (!rail.average_mw && !rail.has_unit) return std::nullopt;
  // "512/1024 MB" is a size.
  std::string_view behind = at;
  if (take_mb(behind) || take_kb(behind) || take_unit(behind, {"GiB", "GB", "G", "M", "K", "B"})) {
    return std::nullopt;
  }
  return rail;
}

std::optional<TegrastatsLine::Ram> take_ram(std::string_view& at) {
  TegrastatsLine::Ram ram;
  if (!take_pair(at, ram.used_mb, ram.total_mb, take_mb)) return std::nullopt;
  take_brackets(at, "lfb", [&](std::string_view& inner) {
    const auto blocks = take_number(inner, kMaxSize);
    if (!blocks || !take_spaced(inner, "x")) return false;
    auto size = take_number(inner, 1U << 20);
    if (!size) return false;
    if (take_mb(inner)) {
      *size *= 1024;
    } else if (!take_kb(inner)) {
      return false;
    }
    skip_spaces(inner);
    if (!take_prefix(inner, ")")) return false;
    ram.lfb_blocks = blocks;
    ram.lfb_block_kb = size;
    return true;
  });
  return ram;
}

std::optional<TegrastatsLine::Swap> take_swap(std::string_view& at) {
  TegrastatsLine::Swap swap;
  if (!take_pair(at, swap.used_mb, swap.total_mb, take_mb)) return std::nullopt;
  take_brackets(at, "cached", [&](std::string_view& inner) {
    const auto cached = take_number(inner, kMaxSize);
    if (!cached || !take_mb(inner)) return false;
    skip_spaces(inner);
    if (!take_prefix(inner, ")")) return false;
    swap.cached_mb = cached;
    return true;
  });
  return swap;
}

std::optional<TegrastatsLine::Iram> take_iram(std::string_view& at) {
  TegrastatsLine::Iram iram;
  if (!take_pair(at, iram.used_kb, iram.total_kb, take_kb)) return std::nullopt;
  take_brackets(at, "lfb", [&](std::string_view& inner) {
    const auto size = take_number(inner, kMaxSize);
    if (!size || !take_kb(inner)) return false;
    skip_spaces(inner);
    if (!take_prefix(inner, ")")) return false;
    iram.lfb_kb = size;
    return true;
  });
  return iram;
}

}  // namespace jetmem::tegrastats
