// SPDX-License-Identifier: Apache-2.0
// A small scanner over kernel text. Every function takes a view, consumes from its front and
// never reads past its end; numbers that overflow are refused, not wrapped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem {

// Walks lines and counts them, so that an error can say which one.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // False at the end of the text. A last line without a newline is still a line.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    const auto* end = static_cast<const char*>(std::memchr(rest_.data(), '\n', rest_.size()));
    if (end == nullptr) {
      line = rest_;
      rest_ = {};
    } else {
      const auto length = static_cast<std::size_t>(end - rest_.data());
      line = rest_.substr(0, length);
      rest_.remove_prefix(length + 1);
    }
    return true;
  }

  std::size_t number() const { return number_; }
  std::string_view rest() const { return rest_; }
  // "line 3: 9 orders, expected 11"
  tl::unexpected<Error> malformed(std::string_view what) const;

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline void skip_blanks(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_blank(text[n])) ++n;
  text.remove_prefix(n);
}

inline bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Leading blanks, then everything up to the next blank. Empty at the end of the text.
std::string_view take_word(std::string_view& text);

// Leading blanks, then a decimal number. Nothing is consumed when there is none or it does not
// fit into 64 bits.
std::optional<std::uint64_t> take_u64(std::string_view& text);
std::optional<std::int64_t> take_i64(std::string_view& text);

// Whole-text variants for files that hold one value and a newline ("42000\n").
std::string_view trim(std::string_view text);
std::optional<std::uint64_t> parse_u64(std::string_view text);
std::optional<std::int64_t> parse_i64(std::string_view text);

// Text from outside, made safe to print on a terminal and to put into a label: control
// characters become '?', bytes that are not UTF-8 and characters that only change how others show
// (directions of writing, joiners) become U+FFFD, and at most `max_bytes` remain.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

// FNV-1a: to tell texts apart, not to hide them. `from`: what was hashed before.
inline constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;
inline constexpr std::uint64_t kFnvPrime = 0x100000001b3;
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t from = kFnvBasis) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return from;
}
// The fewest digits that read back as the same number; "inf" and "nan" where it is none.
std::string shortest_number(double value);
// The lowest digits of `number`, as many as `out` holds.
void write_hex(std::uint64_t number, std::span<char> out);
// Six digits of a text's hash. Few on purpose: what a command line holds cannot be found out from
// them. `out` is reused.
void short_digest(std::string_view text, std::string& out);

// The name among `names` that a person most likely meant, or empty if none is near.
template <class Names>
std::string_view nearest_name(std::string_view typed, const Names& names);

// Number of single-character edits (swap counts one) between two short strings.
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Names>
std::string_view nearest_name(std::string_view typed, const Names& names) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (std::string_view name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace jetmem
