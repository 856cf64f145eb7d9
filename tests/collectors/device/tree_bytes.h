// SPDX-License-Identifier: Apache-2.0
// Properties of a device tree as bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace jetmem::device {

inline std::string cells(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  }
  return bytes;
}

// Each number as two cells.
inline std::string cells64(std::initializer_list<std::uint64_t> numbers) {
  std::string bytes;
  for (const std::uint64_t number : numbers) {
    bytes += cells({static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number)});
  }
  return bytes;
}

// With its NUL.
inline std::string string_property(const char* text) { return std::string(text) + '\0'; }

}  // namespace jetmem::device
