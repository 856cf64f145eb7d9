// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/pasted.h"

#include <cstring>

#include "base/text/plain_text.h"
#include "base/text/text.h"
#include "collectors/kernel_log/line/prefix.h"

namespace jetmem::kernel_log {
namespace {

bool has(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

// Indentation, Markdown's backquote and quote mark, and a quote before a stamp.
void skip_quotes(std::string_view& text) {
  for (;;) {
    skip_blanks(text);
    const bool is_quote = text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text[1] == '[';
    // A stamp in quotes; the kernel's own message may begin with one.
    if (!is_quote && !text.starts_with('`') && !text.starts_with('>')) return;
    text.remove_prefix(1);
  }
}

// What stood in quotes ends with them.
void end_quotes(std::string_view before, std::string_view& text) {
  if (has(before, '`')) {
    text = text.substr(0, text.find('`'));
  } else if (has(before, '"') || has(before, '\'')) {
    while (!text.empty() && (text.back() == ',' || is_blank(text.back()))) text.remove_suffix(1);
    if (!text.empty() && (text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  }
}

}  // namespace

bool Pasted::strip(std::string_view raw, PastedLine& out) {
  out = {};
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  if (make_plain(raw, plain_)) raw = plain_;
  if (after_record_ && is_kmsg_record_key(raw)) return false;
  after_record_ = false;
  strip_prefixes(raw, out);
  return true;
}

std::size_t Pasted::size_of_first(std::string_view text) {
  for (std::size_t at = text.find(' ', 1); at != std::string_view::npos;
       at = text.find(' ', at + 1)) {
    if (text.substr(at + 1).starts_with("kernel: ")) return at;
  }
  return std::string_view::npos;
}

void Pasted::strip_prefixes(std::string_view raw, PastedLine& out) {
  std::string_view text = raw;
  skip_quotes(text);
  end_quotes(raw.substr(0, raw.size() - text.size()), text);
  if (!text.empty() && is_digit(text[0]) && is_kmsg_record(text) && parse_record(text, record_)) {
    after_record_ = true;
    out.line = record_.line();
    return;
  }
  Prefix prefix(text);
  prefix.take_all();
  out.line.text = prefix.rest();
  out.line.voice = prefix.voice();
  out.line.stamp = prefix.stamp();
  out.line.level = prefix.level();
  out.time_text = prefix.time_text();
  out.bare = out.time_text.empty() && !out.line.stamp && out.line.voice == Voice::kUnknown;
}

}  // namespace jetmem::kernel_log
