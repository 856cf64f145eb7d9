// SPDX-License-Identifier: Apache-2.0
// Files that hold one value, as sysfs and debugfs have them ("42000\n"): the value, why a file gave
// none, names that become labels, numbers within file names.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "collectors/fields.h"

namespace jetmem {

// The kernel ends each with a newline. Without one the text was cut ("3942" of "39420"), and what
// is left of it is not the value.
inline std::optional<std::string_view> one_value(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  return trim(text);
}

inline std::optional<std::uint64_t> one_u64(std::string_view text) {
  const auto value = one_value(text);
  return value ? parse_u64(*value) : std::nullopt;
}

inline std::optional<std::int64_t> one_i64(std::string_view text) {
  const auto value = one_value(text);
  return value ? parse_i64(*value) : std::nullopt;
}

// Where in the snapshot a file is; none that the snapshot does not have.
using Record = std::int32_t;
inline constexpr Record kNoRecord = -1;

inline bool is_denied(int error) { return error == EACCES || error == EPERM; }
inline bool is_gone(int error) { return error == ENOENT || error == ENOTDIR; }

// The reason that an absent value is counted under. EAGAIN, ENODEV and ENXIO are what drivers say
// of a part whose power domain or clock is off, EBUSY what cpufreq says of CPUs that are offline.
inline std::string_view reason_of_errno(int error) {
  if (is_denied(error)) return "denied";
  if (error == EAGAIN || error == ENODEV || error == ENXIO) return "powered_off";
  return error == EBUSY ? "offline" : "unreadable";
}

// Of a file without a value.
inline std::string_view reason_of(const FileText& file) {
  return file.ok() ? kMalformed : reason_of_errno(file.error);
}

inline std::string_view reason_of_denied(int error) {
  return is_denied(error) ? "denied" : "unreadable";
}

// Why a file gave no value, for a person: its error, or what it holds. `expected`: "expected a
// number, ".
inline Error error_of(const FileText& file, std::string_view expected = {}) {
  if (!file.ok()) return file.as_error();
  return {Errc::kMalformed, std::string(file.path) + ": " + std::string(expected) + "found '" +
                                printable(file.text, 60) + "'"};
}

// The whole text as a number of 32 bits: "7", not "7x".
inline std::optional<std::uint32_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

// What stands for each '*' of a source's pattern in a path, at least a byte or, for numbers, one;
// false where the path is not of it. A pattern has one '*' between two slashes at most.
template <class Star, std::size_t N>
bool capture(std::string_view pattern, std::string_view path, std::array<Star, N>& stars) {
  std::size_t count = 0;
  for (std::size_t at = pattern.find('*'); at != std::string_view::npos; at = pattern.find('*')) {
    if (!take_prefix(path, pattern.substr(0, at))) return false;
    pattern.remove_prefix(at + 1);
    std::string_view star = path.substr(0, path.find('/'));
    const std::string_view behind = pattern.substr(0, pattern.find('/'));
    if (star.size() <= behind.size() || !star.ends_with(behind)) return false;
    star.remove_suffix(behind.size());
    path.remove_prefix(star.size());
    if constexpr (std::is_integral_v<Star>) {
      const auto number = small_number(star);
      if (!number) return false;
      stars[count++] = *number;
    } else {
      stars[count++] = star;
    }
  }
  return path == pattern;
}

// The patterns of a table of files, as a source's paths.
template <class Row, std::size_t N>
constexpr std::array<std::string_view, N> patterns_of(const std::array<Row, N>& rows) {
  std::array<std::string_view, N> patterns;
  for (std::size_t i = 0; i < N; ++i) patterns[i] = rows[i].pattern;
  return patterns;
}

inline constexpr std::size_t kMaxLabelBytes = 64;

// Whether this may be a label: the kernel's names are short and steer no terminal.
inline bool is_name(std::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return !text.empty() && text.size() <= kMaxLabelBytes &&
         std::none_of(text.begin(), text.end(), is_control);
}

// The name in a file that holds one ("simple_ondemand\n"); none when it was cut or is no name.
inline std::optional<std::string_view> one_name(std::string_view text) {
  const auto value = one_value(text);
  if (!value || !is_name(*value)) return std::nullopt;
  return value;
}

}  // namespace jetmem
