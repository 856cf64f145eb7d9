// SPDX-License-Identifier: Apache-2.0
// Keeps the newest complete line of a stream, in bounded memory: for a program whose older lines
// nobody needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace jetmem {

class NewestLine {
 public:
  static constexpr std::size_t kMaxLine = 64U << 10;

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      const bool whole = newline != std::string_view::npos;
      const std::string_view part = whole ? bytes.substr(0, newline + 1) : bytes;
      bytes.remove_prefix(part.size());
      if (!dropping_ && part_.size() + part.size() > kMaxLine) {
        dropping_ = true;
        ++too_long_;
        part_.clear();
      }
      if (!dropping_) part_.append(part);
      if (!whole) return;
      if (!std::exchange(dropping_, false)) keep();
    }
  }

  // With its newline; empty when none came since take().
  std::string_view line() const { return line_; }
  void take() { line_.clear(); }
  // Another stream begins.
  void restart() {
    line_.clear();
    part_.clear();
    dropping_ = false;
  }

  std::uint64_t lines() const { return lines_; }
  // Not taken before the next came.
  std::uint64_t superseded() const { return superseded_; }
  std::uint64_t too_long() const { return too_long_; }

 private:
  void keep() {
    ++lines_;
    if (!line_.empty()) ++superseded_;
    line_.swap(part_);
    part_.clear();
  }

  std::string line_;
  std::string part_;
  bool dropping_ = false;
  std::uint64_t lines_ = 0;
  std::uint64_t superseded_ = 0;
  std::uint64_t too_long_ = 0;
};

}  // namespace jetmem
