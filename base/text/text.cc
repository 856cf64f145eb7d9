// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace jetmem {

tl::unexpected<Error> Lines::malformed(std::string_view what) const {
  std::string message = "line " + std::to_string(number_) + ": ";
  message.append(what);
  return fail(Errc::kMalformed, std::move(message));
}

std::string_view take_word(std::string_view& text) {
  skip_blanks(text);
  std::size_t n = 0;
  while (n < text.size() && !is_blank(text[n])) ++n;
  const std::string_view word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

namespace {

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  std::string_view rest = text;
  skip_blanks(rest);
  Number value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return value;
}

}  // namespace

std::optional<std::uint64_t> take_u64(std::string_view& text) {
  return take_number<std::uint64_t>(text);
}
std::optional<std::int64_t> take_i64(std::string_view& text) {
  return take_number<std::int64_t>(text);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  text = trim(text);
  const auto value = take_u64(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<std::int64_t> parse_i64(std::string_view text) {
  text = trim(text);
  const auto value = take_i64(text);
  return text.empty() ? value : std::nullopt;
}

namespace {

// The length of the valid UTF-8 sequence at the front of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  unsigned min_second = 0x80;
  unsigned max_second = 0xbf;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) min_second = 0xa0;  // overlong
    if (first == 0xed) max_second = 0x9f;  // surrogates
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) min_second = 0x90;
    if (first == 0xf4) max_second = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < min_second || byte(1) > max_second) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// Characters that show nothing themselves and change how others show: directions of writing,
// joiners, tags. What is shown of a text must be what is in it.
bool is_invisible(std::string_view sequence) {
  unsigned code = 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 2) {
    code = (byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU);
  } else if (sequence.size() == 3) {
    code = (byte(0) & 0xfU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
  } else {
    code = (byte(0) & 0x7U) << 18 | (byte(1) & 0x3fU) << 12 | (byte(2) & 0x3fU) << 6 |
           (byte(3) & 0x3fU);
  }
  return code == 0xad || code == 0x61c || code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
         code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  out.reserve(std::min(text.size(), max_bytes));
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    std::string_view piece = "\xef\xbf\xbd";
    if (length == 1) {
      const char c = text.front();
      piece = (c < 0x20 || c == 0x7f) ? std::string_view("?") : text.substr(0, 1);
    } else if (length == 2 && static_cast<unsigned char>(text[0]) == 0xc2 &&
               static_cast<unsigned char>(text[1]) < 0xa0) {
      piece = "?";  // C1 control characters steer terminals too
    } else if (length > 1 && !is_invisible(text.substr(0, length))) {
      piece = text.substr(0, length);
    }
    if (out.size() + piece.size() > max_bytes) break;
    out.append(piece);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string shortest_number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

void write_hex(std::uint64_t number, std::span<char> out) {
  for (std::size_t i = out.size(); i-- > 0; number >>= 4) out[i] = "0123456789abcdef"[number & 15U];
}

void short_digest(std::string_view text, std::string& out) {
  const std::uint64_t hash = fnv1a(text);
  out.assign(6, '0');
  write_hex(hash ^ (hash >> 24) ^ (hash >> 48), out);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment over three rows. Both sides are short: names a person typed.
  constexpr std::size_t kMax = 128;
  a = a.substr(0, kMax);
  b = b.substr(0, kMax);
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace jetmem
