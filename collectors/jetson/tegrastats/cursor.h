// SPDX-License-Identifier: Apache-2.0
// Steps over a line of tegrastats from its front. What fails consumes nothing of use: fields are
// tried on a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace jetmem::tegrastats {

// Between words. All of ASCII's white space: a pasted line may have tabs or end in CR.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  // Whether a word, and so a field, may end here.
  bool at_word_end() const { return rest_.empty() || is_space(rest_.front()); }
  bool sees(char c) const { return !rest_.empty() && rest_.front() == c; }

  void skip_spaces() {
    std::size_t n = 0;
    while (n < rest_.size() && is_space(rest_[n])) ++n;
    rest_.remove_prefix(n);
  }
  void skip(std::size_t bytes) { rest_.remove_prefix(bytes); }
  // Up to the next space.
  std::string_view word() const {
    std::size_t n = 0;
    while (n < rest_.size() && !is_space(rest_[n])) ++n;
    return rest_.substr(0, n);
  }

  bool take(char c) {
    if (!sees(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view text) { return take_prefix(rest_, text); }
  // A word of its own, and the spaces before it.
  bool take_next_word(std::string_view text) {
    skip_spaces();
    return take(text) && at_word_end();
  }

  // Digits only. Nothing when there are none or the number is above `max`.
  std::optional<std::uint32_t> take_number(std::uint32_t max) {
    std::size_t n = 0;
    std::uint64_t value = 0;
    for (; n < rest_.size() && is_digit(rest_[n]); ++n) {
      value = value * 10 + static_cast<std::uint64_t>(rest_[n] - '0');
      if (value > max) return std::nullopt;
    }
    if (n == 0) return std::nullopt;
    rest_.remove_prefix(n);
    return static_cast<std::uint32_t>(value);
  }

 private:
  std::string_view rest_;
};

}  // namespace jetmem::tegrastats
