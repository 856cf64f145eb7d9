#include "collectors/kernel_log/families/line_parts.h"

#include <algorithm>

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

bool is_kernel_words(std::string_view text) {
  if (text.empty() || text.size() > 160) return false;
  return only_letters_digits_and(" _-.,/()[]", text);
}

bool at_word_end(const Scan& scan) {
  if (scan.at_end()) return true;
  const char c = scan.rest().front();
  return !is_letter(c) && !is_digit(c) && c != '_';
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

std::optional<DevLine> dev_line(std::string_view line) {
  constexpr std::size_t kMaxHead = 96;
  const std::size_t end = line.substr(0, kMaxHead).find(": ");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  DevLine out;
  out.dev = line.substr(0, end);
  out.text = line.substr(end + 2);
  if (const std::size_t blank = out.dev.find(' '); blank != std::string_view::npos) {
    out.driver = out.dev.substr(0, blank);
    out.dev.remove_prefix(blank + 1);
    if (out.driver.empty()) return std::nullopt;
  }
  if (out.dev.empty() || out.dev.find_first_of(" \t") != std::string_view::npos) {
    return std::nullopt;
  }
  skip_blanks(out.text);
  return out;
}

std::optional<std::string_view> take_device(Scan& scan, std::string_view driver) {
  scan.blanks();
  if (!scan.literal(driver)) return std::nullopt;
  const std::string_view name = scan.up_to(" \t");
  if (name.size() < 2 || name.back() != ':' || !is_kernel_name(name.substr(0, name.size() - 1))) {
    return std::nullopt;
  }
  scan.blanks();
  // A tab as /dev/kmsg writes it.
  while (scan.literal("\\x09")) scan.blanks();
  return name.substr(0, name.size() - 1);
}

std::string_view device_before(std::string_view prefix) {
  const std::size_t colon = prefix.find(": ");
  if (colon == std::string_view::npos) return {};
  const std::string_view head = prefix.substr(0, colon);
  const std::size_t blank = head.rfind(' ');
  if (blank == std::string_view::npos || head == "(NULL device *)") return {};
  return head.substr(blank + 1);
}

void set_sized(Event& event, std::string_view name, std::string_view text, std::string_view key,
               std::string_view unit) {
  Scan scan(text);
  if (!scan.past(key)) return;
  const auto value = scan.number();
  if (value && *value >= 0 && scan.literal(unit)) event.set_number(name, *value);
}

}  // namespace jetmem::kernel_log
