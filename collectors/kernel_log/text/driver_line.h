// SPDX-License-Identifier: Apache-2.0
// A driver's message: who prints it, as the kernel's helpers put it in front, and which words are
// in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace jetmem::kernel_log {

// dev_err "DRIVER DEVICE: ", netdev_err "DRIVER DEVICE eth0: ", drm_err "[drm:FUNCTION [MODULE]]
// *ERROR* ", pr_fmt "MODULE: FUNCTION: ", "FUNCTION() ", "FUNCTION:123 ", "ERROR: ", and several of
// them.
struct DriverLine {
  std::string_view driver;  // a driver or module; may be empty
  std::string_view dev;     // may be empty
  std::string_view text;    // the message itself
  bool drm = false;         // the graphics subsystem's mark did
};
DriverLine driver_line(std::string_view line);

// The words of a message in lower case, as far as the first 200 bytes. A guess looks for a
// hundred parts, few of which are there: which pairs of characters there are excludes nearly all of
// them without a search.
class Words {
 public:
  explicit Words(std::string_view message);
  std::string_view text() const { return {bytes_.data(), size_}; }
  bool has(std::string_view part) const {
    return may_have(part) && text().find(part) != std::string_view::npos;
  }
  bool has_any(std::initializer_list<std::string_view> parts) const;
  // Between characters that are neither letters nor digits.
  bool has_word(std::string_view word) const;
  bool has_any_word(std::initializer_list<std::string_view> words) const;

 private:
  static constexpr std::size_t kMost = 200;
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t pair_of(char a, char b) {
    return (static_cast<unsigned char>(a) & 31U) << 5 | (static_cast<unsigned char>(b) & 31U);
  }
  bool has_pair(std::size_t pair) const { return (pairs_[pair / kBits] >> pair % kBits & 1) != 0; }
  // Whether its first, middle and last pairs of characters are there. True of what is shorter.
  bool may_have(std::string_view part) const {
    if (part.size() < 2) return true;
    const std::size_t middle = (part.size() - 1) / 2;
    return has_pair(pair_of(part[0], part[1])) &&
           has_pair(pair_of(part[part.size() - 2], part[part.size() - 1])) &&
           has_pair(pair_of(part[middle], part[middle + 1]));
  }

  std::array<std::uint64_t, 16> pairs_{};  // a bit for each, by the last five bits of both
  std::array<char, kMost> bytes_;
  std::size_t size_ = 0;
};

// Something did not work out: "failed to", "unable to", "could not", "-ENOMEM", "no memory" ...
bool reports_failure(const Words& words);
// One of `names` is the driver's name, or begins it: "xe" also "xe_vm" and "xe2", not "xenbus".
bool is_driver(const DriverLine& line, std::initializer_list<std::string_view> names);

}  // namespace jetmem::kernel_log
