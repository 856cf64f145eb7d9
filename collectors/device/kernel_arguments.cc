// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/kernel_arguments.h"

#include <charconv>

#include "base/text/text.h"
#include "collectors/fields.h"

namespace jetmem::device {

std::string_view kernel_argument(std::string_view command_line, std::string_view name) {
  std::string_view found;
  if (command_line.ends_with('\n')) command_line.remove_suffix(1);
  for (auto word = take_word(command_line); !word.empty() && word != "--";
       word = take_word(command_line)) {
    if (take_prefix(word, name) && take_prefix(word, "=")) found = word;
  }
  return found;
}

std::optional<std::uint64_t> memory_argument(std::string_view value) {
  const bool is_hex = take_prefix(value, "0x") || take_prefix(value, "0X");
  const int base = is_hex ? 16 : value.starts_with('0') ? 8 : 10;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number, base);
  if (error != std::errc{}) return std::nullopt;
  value.remove_prefix(static_cast<std::size_t>(end - value.data()));
  unsigned shift = 0;
  if (!value.empty()) {
    constexpr std::string_view kUnits = "kmgtpe";
    const std::size_t unit = kUnits.find(static_cast<char>(value.front() | 0x20));
    if (unit != std::string_view::npos) shift = 10 * (static_cast<unsigned>(unit) + 1);
  }
  if (number > kMostMemory >> shift) return std::nullopt;
  return number << shift;
}

}  // namespace jetmem::device
