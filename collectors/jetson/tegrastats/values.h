// SPDX-License-Identifier: Apache-2.0
// The forms that the values in a line of tegrastats have. Each takes what it knows from the front;
// whether a word ends there is for the caller to see. What fails consumes nothing of use: fields
// are tried on a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "collectors/jetson/tegrastats/line.h"

namespace jetmem::tegrastats {

// Beyond these a number is no percentage, clock (100 GHz), power (1 MW) or size (4 PiB) any more.
inline constexpr std::uint32_t kMaxPercent = 1000;
inline constexpr std::uint32_t kMaxMhz = 100'000;
inline constexpr std::uint32_t kMaxMilliwatts = 1'000'000'000;
inline constexpr std::uint32_t kMaxSize = UINT32_MAX;

// Between words. All of ASCII's white space: a pasted line may have tabs or end in CR.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Up to the next space.
std::string_view word(std::string_view at);
// Whether a word, and so a field, may end here.
inline bool at_word_end(std::string_view at) { return at.empty() || is_space(at.front()); }
void skip_spaces(std::string_view& at);
// A word of its own, and the spaces before it.
bool take_next_word(std::string_view& at, std::string_view text);
// Digits only. Nothing when there are none or the number is above `max`.
std::optional<std::uint32_t> take_number(std::string_view& at, std::uint32_t max);

// "12%"
std::optional<std::uint32_t> take_percent(std::string_view& at);

// "off", "408", "@408", "12%@408", "12%". Where `clocks` is given, "@[305,305]" and "12%@[305,305]"
// too, and clocks go there. `beyond` counts what is more than kMaxGpcs.
struct LoadForm {
  TegrastatsLine::Load load;
  bool bare = false;  // "408": of a name that nobody knows it could be anything
};
std::optional<LoadForm> take_load(std::string_view& at, std::vector<std::uint32_t>* clocks,
                                  std::uint64_t& beyond);

// "[1%@729,off,2%]", then perhaps "@729" for all.
bool take_cores(std::string_view& at, std::vector<TegrastatsLine::Core>& cores,
                std::uint64_t& beyond);

// "-256C" or "47.687C"; with no digits or beyond 1000 degrees nothing.
std::optional<double> take_celsius(std::string_view& at);

// "0/0", "-392mW/10mW", "1mW/2mW/3mW", "4521mW". The name is left alone.
struct RailForm {
  std::int32_t now_mw = 0;
  std::optional<std::int32_t> average_mw;
  std::optional<std::int32_t> max_mw;
  bool has_unit = false;
};
std::optional<RailForm> take_rail(std::string_view& at);

// "1873/3830MB (lfb 144x4MB)" and its like, from behind the name on.
std::optional<TegrastatsLine::Ram> take_ram(std::string_view& at);
std::optional<TegrastatsLine::Swap> take_swap(std::string_view& at);
std::optional<TegrastatsLine::Iram> take_iram(std::string_view& at);

}  // namespace jetmem::tegrastats
