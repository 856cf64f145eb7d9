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

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
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

class Plain {
 public:
  Plain(std::string_view raw, std::string& out)
      : raw_(raw), out_(out), bare_colours_(contains(raw, "[0m") || contains(raw, "[m")) {}

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
      case '\\':
        if (rest.size() < 2 || !is_punctuation(rest[1])) return false;
        return replace(2, rest.substr(1, 1));
      default: {
        if (static_cast<unsigned char>(rest[0]) < 0x80) return false;
        const Replacement* known = find_in(kSigns, rest);
        return known != nullptr && replace(known->what.size(), known->with);
      }
    }
  }

  std::string_view raw_;
  std::string& out_;
  bool bare_colours_;
  std::size_t at_ = 0;
};

}  // namespace

bool make_plain(std::string_view raw, std::string& out) {
  const bool special = std::any_of(raw.begin(), raw.end(), [](char c) {
    return c == '\x1b' || c == '\b' || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
  });
  if (!special && !contains(raw, "^[[") && !contains(raw, "[0m")) {
    return false;
  }
  Plain(raw, out).run();
  return true;
}

}  // namespace jetmem
