// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/values.h"

#include <initializer_list>

namespace jetmem::tegrastats {
namespace {

constexpr std::uint32_t kMaxDegrees = 1000;

// One character, and the spaces around it that people put there.
bool take_spaced(Cursor& at, char c) {
  Cursor after = at;
  after.skip_spaces();
  if (!after.take(c)) return false;
  after.skip_spaces();
  at = after;
  return true;
}

// A unit that is the rest of its word, perhaps behind spaces.
bool take_unit(Cursor& at, std::initializer_list<std::string_view> names) {
  Cursor after = at;
  after.skip_spaces();
  const bool apart = after.rest().size() != at.rest().size();
  for (const std::string_view name : names) {
    Cursor behind = after;
    if (!behind.take(name)) continue;
    const bool ends =
        behind.at_end() || !(is_letter(behind.rest().front()) || is_digit(behind.rest().front()));
    if (!ends && apart) continue;
    at = behind;
    return true;
  }
  return false;
}
bool take_mb(Cursor& at) { return take_unit(at, {"MiB", "MB", "Mb", "mb"}); }

// A clock for each GPC, behind the bracket.
bool take_clocks(Cursor& at, std::vector<std::uint32_t>& clocks, std::uint64_t& beyond) {
  std::uint64_t left_out = 0;
  do {
    at.skip_spaces();
    const auto mhz = at.take_number(kMaxMhz);
    if (!mhz) return false;
    at.skip_spaces();
    if (clocks.size() < TegrastatsLine::kMaxGpcs) {
      clocks.push_back(*mhz);
    } else {
      ++left_out;
    }
  } while (at.take(','));
  if (!at.take(']')) return false;
  beyond += left_out;
  return true;
}

std::optional<TegrastatsLine::Core> take_core(Cursor& at) {
  TegrastatsLine::Core core;
  if (at.take("off")) {
    core.off = true;
    return core;
  }
  core.percent = take_percent(at);
  if (!core.percent) return std::nullopt;
  if (take_spaced(at, '@')) {
    core.mhz = at.take_number(kMaxMhz);
    if (!core.mhz) return std::nullopt;
  }
  return core;
}

std::optional<std::int32_t> take_milliwatts(Cursor& at, bool& has_unit) {
  const bool negative = at.take('-');
  const auto value = at.take_number(kMaxMilliwatts);
  if (!value) return std::nullopt;
  has_unit = take_unit(at, {"mW"}) || has_unit;
  const auto milliwatts = static_cast<std::int32_t>(*value);
  return negative ? -milliwatts : milliwatts;
}

// "kB" as everywhere; "kb" stood on Android.
bool take_kb(Cursor& at) { return take_unit(at, {"kB", "kb", "KB", "KiB"}); }

// "1873/3830MB", "1873 / 3830 MB", "1873MB/3830MB"
template <class Unit>
bool take_pair(Cursor& at, std::uint32_t& used, std::uint32_t& total, const Unit& unit) {
  const auto first = at.take_number(kMaxSize);
  if (!first) return false;
  unit(at);
  if (!take_spaced(at, '/')) return false;
  const auto second = at.take_number(kMaxSize);
  if (!second || !unit(at)) return false;
  used = *first;
  total = *second;
  return true;
}

// The part in brackets may be missing, or be none that is known: then `at` stays in front of it.
template <class Take>
void take_brackets(Cursor& at, std::string_view label, const Take& take) {
  Cursor inner = at;
  inner.skip_spaces();
  if (!take_spaced(inner, '(') || !inner.take(label)) return;
  inner.skip_spaces();
  if (take(inner)) at = inner;
}

}  // namespace

std::optional<std::uint32_t> take_percent(Cursor& at) {
  const auto percent = at.take_number(kMaxPercent);
  at.skip_spaces();
  if (!percent || !at.take('%')) return std::nullopt;
  return percent;
}

std::optional<LoadForm> take_load(Cursor& at, std::vector<std::uint32_t>* clocks,
                                  std::uint64_t& beyond) {
  LoadForm form;
  if (at.take("off")) {
    form.load.off = true;
    return form;
  }
  if (!at.sees('@')) {
    const auto number = at.take_number(kMaxMhz);
    if (!number) return std::nullopt;
    Cursor behind = at;
    behind.skip_spaces();
    if (behind.take('%')) {
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
  if (!take_spaced(at, '@')) return form;
  if (clocks != nullptr && at.take('[')) {
    if (!take_clocks(at, *clocks, beyond)) return std::nullopt;
    return form;
  }
  form.load.mhz = at.take_number(kMaxMhz);
  if (!form.load.mhz) return std::nullopt;
  if (clocks != nullptr) clocks->push_back(*form.load.mhz);
  return form;
}

bool take_cores(Cursor& at, std::vector<TegrastatsLine::Core>& cores, std::uint64_t& beyond) {
  if (!at.take('[')) return false;
  std::uint64_t left_out = 0;
  do {
    at.skip_spaces();
    const auto core = take_core(at);
    if (!core) return false;
    at.skip_spaces();
    if (cores.size() < TegrastatsLine::kMaxCores) {
      cores.push_back(*core);
    } else {
      ++left_out;
    }
  } while (at.take(','));
  if (!at.take(']')) return false;
  if (take_spaced(at, '@')) {
    const auto mhz = at.take_number(kMaxMhz);
    if (!mhz) return false;
    for (TegrastatsLine::Core& core : cores) {
      if (!core.off && !core.mhz) core.mhz = mhz;
    }
  }
  beyond += left_out;
  return true;
}

std::optional<double> take_celsius(Cursor& at) {
  const bool negative = at.take('-');
  const auto whole = at.take_number(kMaxDegrees);
  if (!whole) return std::nullopt;
  // Whole numbers up to the last division, so that 47.687 is the double nearest to it.
  std::uint64_t value = *whole;
  std::uint64_t scale = 1;
  if (at.take('.')) {
    constexpr std::uint64_t kMaxScale = 1'000'000'000;
    while (!at.at_end() && is_digit(at.rest().front())) {
      if (scale == kMaxScale) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(at.rest().front() - '0');
      scale *= 10;
      at.skip(1);
    }
    if (scale == 1) return std::nullopt;
  }
  if (!take_unit(at, {"C"})) return std::nullopt;
  const double celsius = static_cast<double>(value) / static_cast<double>(scale);
  return negative ? -celsius : celsius;
}

std::optional<RailForm> take_rail(Cursor& at) {
  RailForm rail;
  const auto now = take_milliwatts(at, rail.has_unit);
  if (!now) return std::nullopt;
  rail.now_mw = *now;
  for (std::optional<std::int32_t>* value : {&rail.average_mw, &rail.max_mw}) {
    if (!take_spaced(at, '/')) break;
    *value = take_milliwatts(at, rail.has_unit);
    if (!*value) return std::nullopt;
  }
  // "716" alone is a clock.
  if (!rail.average_mw && !rail.has_unit) return std::nullopt;
  // "512/1024 MB" is a size.
  Cursor behind = at;
  if (take_mb(behind) || take_kb(behind) || take_unit(behind, {"GiB", "GB", "G", "M", "K", "B"})) {
    return std::nullopt;
  }
  return rail;
}

std::optional<TegrastatsLine::Ram> take_ram(Cursor& at) {
  TegrastatsLine::Ram ram;
  if (!take_pair(at, ram.used_mb, ram.total_mb, take_mb)) return std::nullopt;
  take_brackets(at, "lfb", [&](Cursor& inner) {
    const auto blocks = inner.take_number(kMaxSize);
    if (!blocks || !take_spaced(inner, 'x')) return false;
    auto size = inner.take_number(1U << 20);
    if (!size) return false;
    if (take_mb(inner)) {
      *size *= 1024;
    } else if (!take_kb(inner)) {
      return false;
    }
    inner.skip_spaces();
    if (!inner.take(')')) return false;
    ram.lfb_blocks = blocks;
    ram.lfb_block_kb = size;
    return true;
  });
  return ram;
}

std::optional<TegrastatsLine::Swap> take_swap(Cursor& at) {
  TegrastatsLine::Swap swap;
  if (!take_pair(at, swap.used_mb, swap.total_mb, take_mb)) return std::nullopt;
  take_brackets(at, "cached", [&](Cursor& inner) {
    const auto cached = inner.take_number(kMaxSize);
    if (!cached || !take_mb(inner)) return false;
    inner.skip_spaces();
    if (!inner.take(')')) return false;
    swap.cached_mb = cached;
    return true;
  });
  return swap;
}

std::optional<TegrastatsLine::Iram> take_iram(Cursor& at) {
  TegrastatsLine::Iram iram;
  if (!take_pair(at, iram.used_kb, iram.total_kb, take_kb)) return std::nullopt;
  take_brackets(at, "lfb", [&](Cursor& inner) {
    const auto size = inner.take_number(kMaxSize);
    if (!size || !take_kb(inner)) return false;
    inner.skip_spaces();
    if (!inner.take(')')) return false;
    iram.lfb_kb = size;
    return true;
  });
  return iram;
}

}  // namespace jetmem::tegrastats
