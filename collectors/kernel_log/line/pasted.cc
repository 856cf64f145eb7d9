// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/pasted.h"

#include <algorithm>
#include <cstring>

#include "base/text/text.h"
#include "collectors/kernel_log/line/prefix.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kHardBlank = "\xc2\xa0";  // as web pages have it, to keep columns

// "ESC [ 32 m" and the like, as `dmesg -L` paints, are removed; every blank becomes a plain one.
void make_plain(std::string_view raw, std::string& out) {
  out.clear();
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t special = std::min(raw.find_first_of("\x1b\xc2", at), raw.size());
    out.append(raw.substr(at, special - at));
    if (special == raw.size()) return;
    at = special + 1;
    if (raw[special] == kHardBlank[0]) {
      const bool blank = raw.substr(special, 2) == kHardBlank;
      out.push_back(blank ? ' ' : raw[special]);
      if (blank) ++at;
      continue;
    }
    if (at == raw.size() || raw[at] != '[') continue;
    ++at;
    while (at < raw.size() && static_cast<unsigned char>(raw[at]) >= 0x20 &&
           static_cast<unsigned char>(raw[at]) < 0x40) {
      ++at;
    }
    if (at < raw.size()) ++at;
  }
}

bool has(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

// "console-1 | " before a bracket, as container tools put it.
bool take_column(std::string_view& text) {
  std::string_view rest = text;
  const std::string_view name = take_word(rest);
  if (name.empty() || name.size() > 64 || name[0] == '[') return false;
  skip_blanks(rest);
  if (!take_prefix(rest, "| ")) return false;
  skip_blanks(rest);
  if (rest.empty() || rest[0] != '[') return false;
  text = rest;
  return true;
}

// "> > ", "- ", "| ", a backquote and indentation, as quoted mail, lists and web pages have them.
void skip_quotes(std::string_view& text) {
  constexpr std::string_view kBullet = "\xe2\x80\xa2";
  for (;;) {
    skip_blanks(text);
    if (text.empty()) return;
    switch (text[0]) {
      case '>':
      case '`':
        text.remove_prefix(1);
        continue;
      case '*':
      case '-':
      case '|':
        if (text.size() < 2 || !is_blank(text[1])) return;
        text.remove_prefix(1);
        continue;
      case '&':
        if (!take_prefix(text, "&gt;")) return;
        continue;
      default:
        if (take_prefix(text, kBullet)) continue;
        return;
    }
  }
}

}  // namespace

bool Pasted::strip(std::string_view raw, PastedLine& out) {
  out = {};
  if (has(raw, '\x1b') || has(raw, kHardBlank[0])) {
    make_plain(raw, plain_);
    raw = plain_;
  }
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);

  if (after_record_ && is_kmsg_record_key(raw)) return false;
  after_record_ = false;
  std::string_view text = raw;
  skip_quotes(text);
  if (text.size() < raw.size() && has(raw.substr(0, raw.size() - text.size()), '`')) {
    while (!text.empty() && text.back() == '`') text.remove_suffix(1);
  }
  if (!text.empty() && text[0] != '[' && has(text.substr(0, 66), '|')) take_column(text);
  if (!text.empty() && is_digit(text[0]) && is_kmsg_record(text) && parse_record(text, record_)) {
    after_record_ = true;
    out.line = record_.line();
    return true;
  }

  Prefix prefix(text);
  prefix.take_all();
  out.line.text = prefix.rest();
  out.line.voice = prefix.voice();
  out.line.stamp = prefix.stamp();
  out.time_text = prefix.time_text();
  return true;
}

}  // namespace jetmem::kernel_log
