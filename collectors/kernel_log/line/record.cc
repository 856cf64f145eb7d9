// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/record.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text/text.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

// Anything beyond is no stamp.
constexpr auto kMaxStamp = static_cast<std::uint64_t>(kLastSecond) * 1'000'000;

tl::unexpected<Error> bad(std::string_view what, std::string_view found) {
  std::string message = "kmsg record: expected ";
  message.append(what).append(", found '").append(printable(found, 40)).append("'");
  return fail(Errc::kMalformed, std::move(message));
}

// A number right here: unlike in other kernel text no blanks stand before it.
std::optional<std::uint64_t> number(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  return take_u64(text);
}

unsigned digit_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a' + 10);
}

// The text without its "\xNN"; without any it is the text itself. What is cut off or otherwise no
// escape stays as it is.
std::string_view unescaped(std::string_view text, Record& out) {
  text = text.substr(0, kMaxRecord);
  std::size_t at = text.find('\\');
  if (at == std::string_view::npos) return text;
  char* const first = out.bytes.data();
  char* to = first;
  char* const end = first + out.bytes.size();
  std::size_t from = 0;
  const auto copy = [&](std::size_t until) {
    const std::size_t n = std::min(until - from, static_cast<std::size_t>(end - to));
    to = std::copy_n(text.data() + from, n, to);
  };
  while (at != std::string_view::npos && to != end) {
    copy(at);
    const bool escape = text.size() - at >= 4 && text[at + 1] == 'x' &&
                        Scan::is_hex_digit(text[at + 2]) && Scan::is_hex_digit(text[at + 3]);
    if (to != end) {
      *to++ = escape ? static_cast<char>(digit_value(text[at + 2]) * 16 + digit_value(text[at + 3]))
                     : '\\';
    }
    from = at + (escape ? 4 : 1);
    at = text.find('\\', from);
  }
  copy(text.size());
  return {first, static_cast<std::size_t>(to - first)};
}

bool take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  text.remove_prefix(n);
  return n > 0;
}

}  // namespace

Result<void> parse_record(std::string_view text, Record& out) {
  out.fragment = false;
  out.text = out.caller = {};
  std::string_view rest = text;

  const auto prio = number(rest);
  if (!prio) return bad("a priority", rest);
  out.facility = static_cast<std::uint8_t>(std::min<std::uint64_t>(*prio / 8, 255));
  out.level = static_cast<std::uint8_t>(*prio % 8);
  if (!take_prefix(rest, ",")) return bad("',' behind the priority", rest);
  const auto seq = number(rest);
  if (!seq) return bad("a sequence number", rest);
  out.seq = *seq;
  if (!take_prefix(rest, ",")) return bad("',' behind the sequence number", rest);
  const auto stamp = number(rest);
  if (!stamp || *stamp > kMaxStamp) return bad("microseconds", rest);
  out.stamp = std::chrono::microseconds(*stamp);
  if (!take_prefix(rest, ",")) return bad("',' and flags", rest);

  const std::size_t line_end = std::min(rest.find('\n'), rest.size());
  const std::size_t header_end = rest.substr(0, line_end).find(';');
  if (header_end == std::string_view::npos) return bad("';' before the text", rest);
  std::string_view header = rest.substr(0, header_end);
  const std::string_view flags = header.substr(0, header.find(','));
  out.first_fragment = flags.find('c') != std::string_view::npos;
  out.fragment = out.first_fragment || flags.find('+') != std::string_view::npos;
  header.remove_prefix(flags.size());
  while (take_prefix(header, ",")) {
    std::string_view field = header.substr(0, header.find(','));
    header.remove_prefix(field.size());
    if (take_prefix(field, "caller=")) out.caller = field;
  }

  out.text = unescaped(rest.substr(header_end + 1, line_end - header_end - 1), out);
  return {};
}

bool is_kmsg_record(std::string_view line) {
  for (int i = 0; i < 3; ++i) {
    if (!take_digits(line) || !take_prefix(line, ",")) return false;
  }
  if (line.size() < 2 || (line[0] != '-' && line[0] != 'c' && line[0] != '+')) return false;
  return line[1] == ';' || (line[1] == ',' && line.find(';') != std::string_view::npos);
}

bool is_kmsg_record_key(std::string_view line) {
  if (line.size() < 3 || line[0] != ' ') return false;
  std::size_t n = 1;
  while (n < line.size() && ((line[n] >= 'A' && line[n] <= 'Z') || line[n] == '_')) ++n;
  return n > 1 && n < line.size() && line[n] == '=';
}

}  // namespace jetmem::kernel_log
