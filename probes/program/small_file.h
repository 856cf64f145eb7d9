// SPDX-License-Identifier: Apache-2.0
// Reads the small files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jetmem::probe {

struct FileText {
  int error = 0;     // of opening or reading it
  std::string text;  // at most 16 KiB; without the newline, blanks and NULs at its end
};
// Never waits, not even for the other end of a pipe.
FileText read_small_file(const std::string& path);

struct FileNumber {
  std::optional<std::uint64_t> number;
  int error = 0;    // of opening or reading it
  std::string why;  // there is none: "ENOENT", "found \"abc\""
};
// Of a file that has nothing else.
FileNumber number_in(const std::string& path);

// All digits, and not more than a number holds.
std::optional<std::uint64_t> parse_digits(const std::string& text);

// MemAvailable in what /proc/meminfo says, or VmRSS in /proc/self/status, in bytes.
std::optional<std::uint64_t> number_of(const std::string& meminfo, const std::string& field);

}  // namespace jetmem::probe
