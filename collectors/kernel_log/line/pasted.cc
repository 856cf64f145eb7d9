// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/pasted.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text/plain_text.h"
#include "base/text/text.h"
#include "collectors/kernel_log/line/prefix.h"

namespace jetmem::kernel_log {
namespace {

bool has(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

// "1. ", "12) ", of a numbered list.
bool take_list_number(std::string_view& text) {
  std::string_view rest = text;
  take_prefix(rest, "(");
  std::size_t n = 0;
  while (n < rest.size() && n < 5 && is_digit(rest[n])) ++n;
  if (n == 0 || n > 4 || n + 1 >= rest.size() || !is_blank(rest[n + 1])) return false;
  if (rest[n] != ')' && (rest[n] != '.' || rest.size() != text.size())) return false;
  text = rest.substr(n + 1);
  return true;
}

// "> > ", "- ", "| ", "1. ", a backquote and indentation, as quoted mail, lists and web pages have
// them.
void skip_quotes(std::string_view& text) {
  constexpr std::string_view kBullet = "\xe2\x80\xa2";
  bool listed = false;
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
      case '+':
      case '|':
        if (text.size() < 2 || !(is_blank(text[1]) || text[1] == '`')) return;
        text.remove_prefix(1);
        continue;
      case '"':
      case '\'':
        // A stamp in quotes; the kernel's own message may begin with one.
        if (text.size() < 2 || text[1] != '[') return;
        text.remove_prefix(1);
        continue;
      default:
        if (take_prefix(text, kBullet)) continue;
        if (!listed && take_list_number(text)) {
          listed = true;
          continue;
        }
        return;
    }
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

// No table has more columns.
constexpr std::size_t kMaxParts = 32;

constexpr std::string_view kLogcatLevels = "VDIWEFAS";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool Pasted::strip(std::string_view raw, PastedLine& out) {
  out = {};
  parts_ = 0;
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  if (make_plain(raw, plain_)) raw = plain_;
  if (after_record_ && is_kmsg_record_key(raw)) return false;
  after_record_ = false;
  whole_lines_ = has(raw, '\n');
  const std::size_t end = std::min(raw.find('\n'), raw.size());
  rest_ = whole_lines_ ? raw.substr(end + 1) : raw;
  strip_prefixes(raw.substr(0, end), out);
  return true;
}

bool Pasted::next_part(PastedLine& out) {
  out = {};
  if (whole_lines_) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    strip_prefixes(line, out);
    return true;
  }
  // The first cell was looked at as the whole line.
  const std::size_t begin = rest_.find_first_of("|`");
  if (begin == std::string_view::npos || ++parts_ > kMaxParts) {
    rest_ = {};
    return false;
  }
  const char mark = rest_[begin];
  rest_.remove_prefix(begin + 1);
  std::string_view cell = rest_.substr(0, rest_.find(mark));
  // A cell may hold back quotes, and these a '|'.
  if (mark == '|' && has(cell, '`')) cell = rest_.substr(0, rest_.find('`'));
  strip_prefixes(trim(cell), out);
  return true;
}

std::size_t Pasted::size_of_first(std::string_view text) {
  for (std::size_t at = text.find(' ', 1); at != std::string_view::npos;
       at = text.find(' ', at + 1)) {
    if (text.substr(at + 1).starts_with("kernel: ")) return at;
  }
  return std::string_view::npos;
}

// "09-14 08:45:03.277  6912  6912 E RKNN    : text", perhaps with a year, a zone or a user; and
// "W/kernel  (    0): text". The kernel's own lines have process 0, and logd took their first word
// for the tag.
bool Pasted::strip_logcat(std::string_view text, PastedLine& out) {
  if (text.size() < 12) return false;
  const bool dated = is_digit(text[0]) && (text[2] == '-' || text[4] == '-');
  if (!dated && text[1] != '/') return false;
  std::string_view rest = text;
  std::string_view level;
  bool of_kernel = false;
  std::string_view time;
  if (rest.size() > 2 && rest[1] == '/' && kLogcatLevels.find(rest[0]) != std::string_view::npos) {
    level = rest.substr(0, 1);
    rest.remove_prefix(2);
    const std::size_t open = rest.find('(');
    const std::size_t close = rest.find("): ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return false;
    }
    const std::string_view pid = trim(rest.substr(open + 1, close - open - 1));
    if (!is_number(pid)) return false;
    of_kernel = pid == "0";
    logcat_.assign(trim(rest.substr(0, open)));
    rest.remove_prefix(close + 3);
  } else {
    // Date, time, up to two words, two numbers, level.
    std::array<std::string_view, 7> words;
    std::size_t count = 0;
    std::string_view at = rest;
    while (count < words.size()) {
      const std::string_view word = take_word(at);
      if (word.empty()) return false;
      words[count++] = word;
      if (count >= 5 && word.size() == 1 && !is_digit(word[0])) break;
    }
    level = words[count - 1];
    if (count < 5 || kLogcatLevels.find(level) == std::string_view::npos || level.size() != 1) {
      return false;
    }
    const bool date = words[0].size() >= 5 && words[0].find('-') != std::string_view::npos &&
                      words[1].size() >= 8 && words[1][2] == ':' && words[1][5] == ':';
    if (!date || !is_number(words[count - 2]) || !is_number(words[count - 3])) return false;
    of_kernel = words[count - 3] == "0";
    const auto end = static_cast<std::size_t>(words[1].data() + words[1].size() - text.data());
    time = text.substr(0, end);
    rest = at;
    if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    const std::size_t colon = rest.find(": ");
    const std::string_view tag = colon == std::string_view::npos ? rest : rest.substr(0, colon);
    // What the kernel printed has its first ": " wherever it has it; a tag is padded.
    logcat_.assign(trim(tag));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 2);
  }
  const std::string_view mark = rest.empty() || logcat_.empty() ? "" : ": ";
  if (of_kernel) {
    // A tag that is empty, or logd's own name for the kernel, is none of the kernel's words.
    if (logcat_ == "kernel") {
      logcat_.assign(rest);
    } else {
      logcat_.append(mark).append(rest);
    }
    Prefix prefix(logcat_);
    prefix.take_all();
    out.line.text = prefix.rest();
    out.line.voice = Voice::kKernel;
    out.line.stamp = prefix.stamp();
  } else {
    logcat_.append(mark).append(rest);
    out.line.text = logcat_;
    out.line.voice = Voice::kProcess;
  }
  out.time_text = time;
  return true;
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
  if (strip_logcat(text, out)) return;
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
