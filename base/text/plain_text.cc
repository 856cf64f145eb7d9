// SPDX-License-Identifier: Apache-2.0
#include "base/text/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text/text.h"

namespace jetmem {
namespace {

struct Replacement {
  std::string_view what;
  std::string_view with;
};

constexpr std::array kEntities{
    Replacement{"&lt;", "<"},     Replacement{"&gt;", ">"},     Replacement{"&amp;", "&"},
    Replacement{"&quot;", "\""},  Replacement{"&apos;", "'"},   Replacement{"&nbsp;", " "},
    Replacement{"&lsqb;", "["},   Replacement{"&rsqb;", "]"},   Replacement{"&lbrack;", "["},
    Replacement{"&rbrack;", "]"}, Replacement{"&lowbar;", "_"}, Replacement{"&ast;", "*"}};

// Of UTF-8, by their bytes.
constexpr std::array kSigns{Replacement{"\xc2\xa0", " "},       Replacement{"\xc2\xad", ""},
                            Replacement{"\xe2\x80\x8b", ""},    Replacement{"\xe2\x80\x8c", ""},
                            Replacement{"\xe2\x80\x8d", ""},    Replacement{"\xe2\x80\x8e", ""},
                            Replacement{"\xe2\x80\x8f", ""},    Replacement{"\xe2\x80\x90", "-"},
                            Replacement{"\xe2\x80\x91", "-"},   Replacement{"\xe2\x80\x92", "-"},
                            Replacement{"\xe2\x80\x93", "-"},   Replacement{"\xe2\x80\x94", "-"},
                            Replacement{"\xe2\x80\x95", "-"},   Replacement{"\xe2\x80\x98", "'"},
                            Replacement{"\xe2\x80\x99", "'"},   Replacement{"\xe2\x80\x9c", "\""},
                            Replacement{"\xe2\x80\x9d", "\""},  Replacement{"\xe2\x80\x9e", "\""},
                            Replacement{"\xe2\x80\xa6", "..."}, Replacement{"\xe2\x80\xaf", " "},
                            Replacement{"\xe2\x81\xa0", ""},    Replacement{"\xe2\x88\x92", "-"},
                            Replacement{"\xe2\x94\x82", "|"},   Replacement{"\xe3\x80\x80", " "},
                            Replacement{"\xef\xbb\xbf", ""}};

// Tags that stand in text; any other "<word>" is the message's own.
constexpr std::array<std::string_view, 16> kTags{"br", "p",    "pre",  "code",  "span", "div",
                                                 "tt", "b",    "i",    "em",    "li",   "td",
                                                 "tr", "font", "samp", "strong"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_upper_hex(char c) { return is_digit(c) || (c >= 'A' && c <= 'F'); }
bool is_punctuation(char c) { return c > ' ' && c < 0x7f && !is_letter(c) && !is_digit(c); }

template <class List>
const Replacement* find_in(const List& list, std::string_view text) {
  for (const Replacement& each : list) {
    if (text.starts_with(each.what)) return &each;
  }
  return nullptr;
}

// A control sequence behind "ESC [" ends with a byte from '@' on.
std::size_t end_of_sequence(std::string_view text, std::size_t at) {
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x20 &&
         static_cast<unsigned char>(text[at]) < 0x40) {
    ++at;
  }
  return std::min(at + 1, text.size());
}

std::size_t end_of_escape(std::string_view text, std::size_t at) {
  if (at == text.size()) return at;
  if (text[at] == '[') return end_of_sequence(text, at + 1);
  if (text[at] == ']') {  // a title, up to BEL or ESC backslash
    const std::size_t end = text.find_first_of("\x07\x1b", at);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  if (text[at] == '(' || text[at] == ')') return std::min(at + 2, text.size());
  return is_letter(text[at]) || text[at] == '=' || text[at] == '>' ? at + 1 : at;
}

// The size of a colour without its escape, "[0;32m"; 0 for none.
std::size_t bare_colour(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && n < 12 && (is_digit(text[n]) || text[n] == ';')) ++n;
  return n < text.size() && (text[n] == 'm' || (n < 3 && text[n] == 'K')) ? n + 1 : 0;
}

// The size of "<br/>", "</span>", "<span style=...>"; 0 for none.
std::size_t tag_size(std::string_view text, bool& line_break) {
  std::size_t at = text.starts_with("</") ? 2 : 1;
  const std::size_t begin = at;
  while (at < text.size() && is_letter(text[at])) ++at;
  const std::string_view name = text.substr(begin, at - begin);
  if (std::find(kTags.begin(), kTags.end(), name) == kTags.end()) return 0;
  if (at == text.size() || (text[at] != '>' && text[at] != '/' && text[at] != ' ')) return 0;
  const std::size_t end = text.substr(0, at + 200).find('>', at);
  if (end == std::string_view::npos) return 0;
  // "<p 5>" has no attribute.
  const std::string_view attributes = text.substr(at, end - at);
  if (text[at] == ' ' && attributes != " " && attributes != " /" &&
      attributes.find('=') == std::string_view::npos) {
    return 0;
  }
  line_break = name == "br";
  return end + 1;
}

// "&#91;", "&#x5b;": one ASCII character.
std::size_t numeric_entity(std::string_view text, char& out) {
  if (!text.starts_with("&#")) return 0;
  std::size_t at = 2;
  const bool hex = at < text.size() && (text[at] == 'x' || text[at] == 'X');
  if (hex) ++at;
  unsigned value = 0;
  const std::size_t begin = at;
  for (; at < text.size() && at < begin + 4; ++at) {
    const char c = text[at];
    const int digit = is_digit(c)                   ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : -1;
    if (digit < 0) break;
    value = value * (hex ? 16U : 10U) + static_cast<unsigned>(digit);
  }
  if (at == begin || at == text.size() || text[at] != ';') return 0;
  if (value == 0xa0) value = ' ';
  if (value < 0x20 || value > 0x7e) return 0;
  out = static_cast<char>(value);
  return at + 1;
}

// Whether every '=' is an escape of quoted-printable, and one of them stands for '='.
bool is_quoted_printable(std::string_view text) {
  bool escaped = false;
  for (std::size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    if (at + 1 == text.size()) continue;
    if (at + 2 >= text.size() || !is_upper_hex(text[at + 1]) || !is_upper_hex(text[at + 2])) {
      return false;
    }
    escaped = escaped || text.substr(at, 3) == "=3D";
  }
  return escaped;
}

class Plain {
 public:
  Plain(std::string_view raw, std::string& out)
      : raw_(raw),
        out_(out),
        bare_colours_(contains(raw, "[0m") || contains(raw, "[m")),
        quoted_printable_(is_quoted_printable(raw)) {}

  void run() {
    out_.clear();
    while (at_ < raw_.size()) {
      if (!take_special()) out_.push_back(raw_[at_++]);
    }
  }

 private:
  bool replace(std::size_t size, std::string_view with) {
    if (size == 0) return false;
    out_.append(with);
    at_ += size;
    return true;
  }

  bool take_special() {
    const std::string_view rest = raw_.substr(at_);
    switch (rest[0]) {
      case '\x1b':
        at_ = end_of_escape(raw_, at_ + 1);
        return true;
      case '\b':
        if (!out_.empty()) out_.pop_back();
        return replace(1, "");
      case '^':
        return rest.starts_with("^[[") && replace(end_of_sequence(rest, 3), "");
      case '[':
        return bare_colours_ && replace(bare_colour(rest), "");
      case '&': {
        char c = 0;
        if (const std::size_t size = numeric_entity(rest, c)) return replace(size, {&c, 1});
        const Replacement* known = find_in(kEntities, rest);
        return known != nullptr && replace(known->what.size(), known->with);
      }
      case '\\':
        if (rest.size() < 2 || !is_punctuation(rest[1])) return false;
        return replace(2, rest.substr(1, 1));
      case '<': {
        bool line_break = false;
        const std::size_t size = tag_size(rest, line_break);
        return replace(size, line_break ? "\n" : "");
      }
      case '=':
        return quoted_printable_ && take_quoted(rest);
      default: {
        if (static_cast<unsigned char>(rest[0]) < 0x80) return false;
        const Replacement* known = find_in(kSigns, rest);
        return known != nullptr && replace(known->what.size(), known->with);
      }
    }
  }

  bool take_quoted(std::string_view rest) {
    if (rest.size() < 3) return false;
    const auto digit = [](char c) { return is_digit(c) ? c - '0' : c - 'A' + 10; };
    const char c = static_cast<char>(digit(rest[1]) * 16 + digit(rest[2]));
    return replace(3, {&c, 1});
  }

  std::string_view raw_;
  std::string& out_;
  bool bare_colours_;
  bool quoted_printable_;
  std::size_t at_ = 0;
};

}  // namespace

bool make_plain(std::string_view raw, std::string& out) {
  const bool special = std::any_of(raw.begin(), raw.end(), [](char c) {
    return c == '\x1b' || c == '\b' || c == '&' || c == '\\' || c == '<' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
  if (!special && !contains(raw, "^[[") && !contains(raw, "[0m") && !contains(raw, "=3D")) {
    return false;
  }
  Plain(raw, out).run();
  return true;
}

}  // namespace jetmem
