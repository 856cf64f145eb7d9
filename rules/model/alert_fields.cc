// SPDX-License-Identifier: Apache-2.0
#include "rules/model/alert_fields.h"

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxFieldName = 64;  // journald drops a field with a longer one

}  // namespace

std::string label_field(std::string_view label) {
  std::string out = "JETMEM_LABEL_";
  for (const char c : label) {
    if (out.size() == kMaxFieldName) break;
    const bool small = c >= 'a' && c <= 'z';
    const bool other = (c >= 'A' && c <= 'Z') || is_digit(c);
    out += small ? static_cast<char>(c - 'a' + 'A') : other ? c : '_';
  }
  return out;
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string joined;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!is_space) {
      joined += c;
    } else if (!joined.empty() && joined.back() != ' ') {
      joined += ' ';
    }
  }
  while (!joined.empty() && joined.back() == ' ') joined.pop_back();
  return printable(joined, max_bytes);
}

}  // namespace jetmem
