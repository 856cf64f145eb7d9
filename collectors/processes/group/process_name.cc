// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/process_name.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxName = 64;  // a kernel thread's; a program's has 15 bytes at most
constexpr std::size_t kNumberDigits = 4;

bool is_plain(std::string_view name) {
  return name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::optional<std::string_view> comm_of(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  return text;
}

void assign_kind(std::string& out, std::string_view name) {
  if (is_plain(name)) {
    out.assign(name);
  } else {
    out = printable(name, kMaxName);
  }
  std::size_t digits = 0;
  while (digits < out.size() && is_digit(out[out.size() - digits - 1])) ++digits;
  if (digits < kNumberDigits) return;
  out.resize(out.size() - digits);
  out += '*';
}

}  // namespace jetmem
