// SPDX-License-Identifier: Apache-2.0
// A scanner over one line of the kernel log, in the shape of the printf format that made it: each
// step consumes from the front or, when the text does not match, consumes nothing and says so.
#pragma once

#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace jetmem::kernel_log {

class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

  // Exactly this text.
  bool literal(std::string_view text) { return take_prefix(rest_, text); }
  void blanks() { skip_blanks(rest_); }
  // Moves behind the first place where `text` stands.
  bool past(std::string_view text) {
    const std::size_t at = rest_.find(text);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }
  // What stands before the first `delimiter`, which is consumed too.
  std::optional<std::string_view> until(std::string_view delimiter) {
    const std::size_t at = rest_.find(delimiter);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + delimiter.size());
    return found;
  }
  // Everything up to the first of `stops`, which stays, or to the end. May be empty.
  std::string_view up_to(std::string_view stops) {
    const std::size_t at = std::min(rest_.find_first_of(stops), rest_.size());
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return found;
  }
  // A decimal number, perhaps negative, right here.
  std::optional<std::int64_t> number() {
    std::string_view text = rest_;
    if (text.empty() || is_blank(text.front())) return std::nullopt;
    const std::optional<std::int64_t> value = take_i64(text);
    if (value) rest_ = text;
    return value;
  }
  // Hexadecimal digits, with or without "0x", right here: as printed.
  std::optional<std::string_view> hex() {
    std::size_t n = rest_.substr(0, 2) == "0x" ? 2 : 0;
    const std::size_t first = n;
    while (n < rest_.size() && is_hex_digit(rest_[n])) ++n;
    if (n == first || n - first > 16) return std::nullopt;
    const std::string_view digits = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return digits;
  }

  static bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }

 private:
  std::string_view rest_;
};

}  // namespace jetmem::kernel_log
