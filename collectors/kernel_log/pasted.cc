#include "collectors/kernel_log/pasted.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "collectors/kernel_log/prefix.h"

namespace jetmem::kernel_log {
namespace {

// "ESC [ 32 m" and the like, as `dmesg -L` paints, are left out.
void remove_colours(std::string_view raw, std::string& out) {
  out.clear();
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t escape = std::min(raw.find('\x1b', at), raw.size());
    out.append(raw.substr(at, escape - at));
    if (escape == raw.size()) return;
    at = escape + 1;
    if (at == raw.size() || raw[at] != '[') continue;
    ++at;
    while (at < raw.size() && static_cast<unsigned char>(raw[at]) >= 0x20 &&
           static_cast<unsigned char>(raw[at]) < 0x40) {
      ++at;
    }
    if (at < raw.size()) ++at;
  }
}

// "> > " and indentation, as quoted mail and lists have them.
void skip_quotes(std::string_view& text) {
  for (;;) {
    skip_blanks(text);
    if (text.empty() || text[0] != '>') return;
    text.remove_prefix(1);
  }
}

}  // namespace

bool Pasted::strip(std::string_view raw, PastedLine& out) {
  out = {};
  if (!raw.empty() && std::memchr(raw.data(), '\x1b', raw.size()) != nullptr) {
    remove_colours(raw, plain_);
    raw = plain_;
  }
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);

  if (after_record_ && looks_like_record_key(raw)) return false;
  after_record_ = false;
  std::string_view text = raw;
  skip_quotes(text);
  if (!text.empty() && is_digit(text[0]) && looks_like_record(text) &&
      parse_record(text, record_)) {
    after_record_ = true;
    out.line = record_.line();
    out.line.text = record_.text;
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
