// A small scanner over kernel text. Every function takes a view, consumes from its front and
// never reads past its end; numbers that overflow are refused, not wrapped.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
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
  // For a caller that took one whole line from rest() itself: what it left.
  void took_line(std::string_view rest) {
    rest_ = rest;
    ++number_;
  }

  // "line 3: 9 orders, expected 11"
  tl::unexpected<Error> malformed(std::string_view what) const;

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As memcmp() == 0. What is compared here are words of a few letters, hundreds each round: not
// worth a call each.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  const auto both_ends = [&](auto word_a) {
    auto word_b = word_a;
    auto last_a = word_a;
    auto last_b = word_a;
    std::memcpy(&word_a, a, sizeof word_a);
    std::memcpy(&word_b, b, sizeof word_b);
    std::memcpy(&last_a, a + size - sizeof last_a, sizeof last_a);
    std::memcpy(&last_b, b + size - sizeof last_b, sizeof last_b);
    return word_a == word_b && last_a == last_b;
  };
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return both_ends(std::uint64_t{});
  if (size >= 4) return both_ends(std::uint32_t{});
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

inline void skip_blanks(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_blank(text[n])) ++n;
  text.remove_prefix(n);
}

inline bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  if (!same_bytes(text.data(), prefix.data(), prefix.size())) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Leading blanks, then everything up to the next blank. Empty at the end of the text.
std::string_view take_word(std::string_view& text);

// Leading blanks, then a decimal number. Nothing is consumed when there is none or it does not
// fit into 64 bits.
inline std::optional<std::uint64_t> take_u64(std::string_view& text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end && is_blank(*p)) ++p;
  const char* const first = p;
  // 19 digits always fit; only those behind them need the check.
  const char* const sure = end - p > 19 ? p + 19 : end;
  std::uint64_t value = 0;
  for (; p != sure && is_digit(*p); ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
  for (; p != end && is_digit(*p); ++p) {
    const auto digit = static_cast<std::uint64_t>(*p - '0');
    if (value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit) return std::nullopt;
    value = value * 10 + digit;
  }
  if (p == first) return std::nullopt;
  text = std::string_view(p, static_cast<std::size_t>(end - p));
  return value;
}

std::optional<std::int64_t> take_i64(std::string_view& text);

// Whole-text variants for files that hold one value and a newline ("42000\n").
std::string_view trim(std::string_view text);
std::optional<std::uint64_t> parse_u64(std::string_view text);
std::optional<std::int64_t> parse_i64(std::string_view text);

// Text from outside, made safe to print on a terminal and to put into a label: control
// characters become '?', bytes that are not UTF-8 and characters that only change how others show
// (directions of writing, joiners) become U+FFFD, and at most `max_bytes` remain.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

// The name among `names` that a person most likely meant, or empty if none is near.
template <class Names>
std::string_view nearest_name(std::string_view typed, const Names& names);

// Number of single-character edits (swap counts one) between two short strings.
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Names>
std::string_view nearest_name(std::string_view typed, const Names& names) {
  std::string_view best;
  std::size_t best_distance = typed.size() / 3 + 2;
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
