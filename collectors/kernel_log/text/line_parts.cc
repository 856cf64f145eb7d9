// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text/line_parts.h"

#include <algorithm>
#include <array>

namespace jetmem::kernel_log {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool only_letters_digits_and(std::string_view marks, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
  });
}

}  // namespace

bool is_kernel_name(std::string_view text) {
  if (text.empty() || text.size() > 80 || text.back() == ':') return false;
  return only_letters_digits_and("_-.:@,/+", text);
}

bool contains_any(std::string_view text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(text, part); });
}

bool is_c_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_char);
}

bool take_natural(Scan& scan, Event& event, std::string_view name) {
  const auto number = scan.number();
  const bool is_natural = number && *number >= 0;
  if (is_natural) event.set_number(name, *number);
  return is_natural;
}

void set_if(Event& event, std::string_view name, std::string_view value) {
  if (!value.empty()) event.set_text(name, value);
}

bool is_comm(std::string_view text) {
  constexpr std::size_t kMaxComm = 15;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < text.size() && bytes <= kMaxComm; ++bytes) {
    const bool escaped = text.substr(i, 2) == "\\x" && text.size() - i >= 4 &&
                         Scan::is_hex_digit(text[i + 2]) && Scan::is_hex_digit(text[i + 3]);
    i += escaped ? 4 : 1;
  }
  return bytes > 0 && bytes <= kMaxComm;
}

bool is_leading_comm(std::string_view text) {
  // "tmux: server" is a name; "W: foo" is a level and one, "input: foo" a device's.
  if (!is_comm(text) || text.find(": ") < 2 || text.starts_with("input: ")) return false;
  if (text.substr(0, 2) == "\xc2\xa0" || is_blank(text.front())) return false;
  // "[    1.0] foo", "<4>foo", "| foo", "- foo"
  if (text.front() == '[' && text.find("] ") != std::string_view::npos) return false;
  if (text.front() == '<' && text.find('>') != std::string_view::npos) return false;
  constexpr std::string_view kMarks = "|>*-`#$";
  if (text.size() > 1 && kMarks.find(text.front()) != std::string_view::npos && text[1] == ' ') {
    return false;
  }
  // "18:53:02 foo", "2026-11-20 foo", "Nov 20 foo"
  Scan scan(text);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return true;
  const bool number = is_digit(text.front()) && scan.number().has_value();
  if (number && (scan.literal(":") || scan.literal("-"))) return false;
  constexpr std::string_view kMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
  const std::size_t month = kMonths.find(text.substr(0, 4));
  if (blank != 3 || month == std::string_view::npos || month % 4 != 0) return true;
  return !parse_u64(trim(text.substr(3, 3)));
}

std::optional<std::int64_t> in_bytes(std::int64_t number, std::string_view behind) {
  Scan scan(behind);
  scan.blanks();
  std::size_t n = 0;
  while (n < scan.rest().size() && is_letter(scan.rest()[n])) ++n;
  const std::string_view word = scan.rest().substr(0, n);
  const bool apart = behind.size() != scan.rest().size();
  // "size=64 align=8", "size 0x1000 min_pagesz 0x1000"
  const char next = n < scan.rest().size() ? scan.rest()[n] : ' ';
  if (apart && n > 0 && (next == '=' || next == '_')) return number;
  if (is_name_char(next)) return std::nullopt;
  struct Unit {
    std::string_view name;
    unsigned bits;
  };
  constexpr std::array kUnits{Unit{"", 0},      Unit{"B", 0},    Unit{"byte", 0}, Unit{"bytes", 0},
                              Unit{"Bytes", 0}, Unit{"K", 10},   Unit{"k", 10},   Unit{"KiB", 10},
                              Unit{"kiB", 10},  Unit{"KB", 10},  Unit{"kB", 10},  Unit{"kb", 10},
                              Unit{"M", 20},    Unit{"MiB", 20}, Unit{"MB", 20},  Unit{"G", 30},
                              Unit{"GiB", 30},  Unit{"GB", 30}};
  // The sentence goes on: "of size 4096 for the ring".
  constexpr std::array<std::string_view, 18> kSentence{
      "for",  "at", "failed", "from", "in",  "of",  "to",    "on", "and",
      "with", "is", "was",    "not",  "ret", "err", "error", "by", "errno"};
  if (apart && std::find(kSentence.begin(), kSentence.end(), word) != kSentence.end())
    return number;
  for (const Unit& unit : kUnits) {
    if (unit.name == word && number <= INT64_MAX >> unit.bits) return number << unit.bits;
  }
  return std::nullopt;
}

bool is_whole_register(std::string_view digits) {
  take_prefix(digits, "0x");
  return digits.size() == 8;
}

std::string_view without_vendor_prefix(std::string_view text) {
  Scan scan(text);
  scan.blanks();
  if (!scan.literal("[")) return text;
  if (!scan.number() || !scan.literal(":")) return text;
  const auto inside = scan.until("] ");
  if (!inside) return text;
  const std::size_t colon = inside->rfind(':');
  if (colon == std::string_view::npos || !parse_u64(trim(inside->substr(colon + 1)))) return text;
  return scan.rest();
}

}  // namespace jetmem::kernel_log
