// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/terminal.h"

#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/text/text.h"
#include "cli/draw/characters.h"
#include "cli/draw/number_text.h"

namespace jetmem {

bool uses_color() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::strcmp(term, "dumb") != 0;
}

int terminal_width() {
  constexpr int kNarrowest = 20;
  constexpr int kWidest = 400;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp(static_cast<int>(size.ws_col), kNarrowest, kWidest);
  }
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr) {
    if (const auto needed = parse_u64(columns)) {
      return static_cast<int>(std::clamp<std::uint64_t>(*needed, kNarrowest, kWidest));
    }
  }
  return 80;
}

void use_terminal_locale() {
  static const char* const once = std::setlocale(LC_CTYPE, "");
  static_cast<void>(once);
}

bool has_utf8() {
  use_terminal_locale();
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

namespace {

// errno is certain only right after the call that failed.
int& first_output_error() {
  static int error = 0;
  return error;
}

}  // namespace

void put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() &&
      first_output_error() == 0) {
    first_output_error() = errno;
  }
}

int flush_output() {
  if (std::fflush(stdout) != 0 && first_output_error() == 0) first_output_error() = errno;
  if (first_output_error() != 0) return first_output_error();
  return std::ferror(stdout) == 0 ? 0 : -1;
}

bool is_output_closed() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  return text.append(noun).append(count == 1 ? "" : "s");
}

namespace {

std::string_view escape_of(Paint paint) {
  constexpr std::array<std::string_view, 7> kEscapes{
      "", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;33m", "\x1b[1;31m", "\x1b[1;35m"};
  return kEscapes[static_cast<std::size_t>(paint)];
}

double wall_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ScreenStyle terminal_style() { return {terminal_width(), uses_color(), has_utf8()}; }

std::string painted(const ScreenStyle& style, Paint paint, std::string_view text) {
  const std::string_view escape = escape_of(paint);
  if (!style.color || escape.empty()) return std::string(text);
  return std::string(escape).append(text).append("\x1b[0m");
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    const bool is_escape = text[0] == '\x1b';
    width += is_escape ? 0 : next.cells;
    text.remove_prefix(is_escape ? std::min(text.find('m'), text.size() - 1) + 1 : next.bytes);
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (shown_width(text) <= width) return std::string(text);
  if (width <= 2) return std::string(width, '.');
  return cut_text(text, width - 2).append("..");
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = cut_to(text, width);
  return out.append(width - shown_width(out), ' ');
}

std::string paragraph(const ScreenStyle& style, std::string_view text, std::size_t indent) {
  return wrapped(text, indent, static_cast<std::size_t>(style.width));
}

std::string not_known(const Absences& absences, std::string_view key) {
  return "not known: " + absence_reason(absences, key);
}

std::string labelled_as_is(std::string_view label, std::string_view text) {
  std::string out = padded(label, kLabelWidth).append(text);
  out.erase(out.find_last_not_of(' ') + 1);
  return out.append("\n");
}

namespace {

// The bytes of a word that fit into so many columns, escape sequences whole; after a mark between
// its parts ("nvargus-|daemon") where the second half of them has one. At least one character.
std::size_t fitting(std::string_view word, std::size_t columns) {
  std::size_t taken = 0;
  std::size_t after_mark = 0;
  std::size_t i = 0;
  while (i < word.size()) {
    if (word[i] == '\x1b') {
      i = std::min(word.find('m', i), word.size() - 1) + 1;
      continue;
    }
    const Character next = first_character(word.substr(i));
    if (taken > 0 && taken + next.cells > columns) break;
    taken += next.cells;
    i += next.bytes;
    if (taken * 2 > columns &&
        std::string_view("-_/.,:;=@").find(word[i - 1]) != std::string::npos) {
      after_mark = i;
    }
  }
  return i < word.size() && after_mark > 0 ? after_mark : i;
}

std::vector<std::string> fold(std::string_view text, std::size_t columns, std::size_t max_lines,
                              bool color, bool whole_words) {
  std::vector<std::string> lines(1);
  const auto next_line = [&] {
    if (lines.size() != max_lines) {
      lines.emplace_back();
      return true;
    }
    // Room for the dots is made out of the last words.
    std::string& line = lines.back();
    while (!line.empty() && shown_width(line) + 3 > columns) {
      const std::size_t blank = line.rfind(' ');
      line.erase(blank == std::string::npos ? 0 : blank);
    }
    line.append(line.empty() ? ".." : " ..").append(color ? "\x1b[0m" : "");
    return false;
  };
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t width = shown_width(lines.back());
    if (width > 0 && width + 1 + shown_width(word) > columns && !next_line()) break;
    if (!lines.back().empty()) lines.back().append(" ");
    // A word that no line can hold goes on in the next.
    while (!whole_words && shown_width(word) > columns) {
      const std::size_t part = fitting(word, columns);
      lines.back().append(word.substr(0, part));
      word.remove_prefix(part);
      if (!next_line()) return lines;
    }
    lines.back().append(word);
  }
  return lines;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  if (columns == 0) columns = static_cast<std::size_t>(terminal_width());
  const std::size_t room = columns - std::min(columns, indent);
  std::string out;
  for (const std::string& line : fold(text, room, 0, false, /*whole_words=*/true)) {
    if (!line.empty()) out.append(indent, ' ').append(line).append("\n");
  }
  return out;
}

std::vector<std::string> folded(std::string_view text, std::size_t columns, std::size_t max_lines,
                                bool color) {
  return fold(text, columns, max_lines, color, /*whole_words=*/false);
}

std::string labelled(const ScreenStyle& style, std::string_view label, std::string_view text,
                     std::size_t max_lines) {
  const std::size_t all = static_cast<std::size_t>(style.width);
  const std::size_t room = all > kLabelWidth + 10 ? all - kLabelWidth : 10;
  const std::vector<std::string> lines = folded(text, room, max_lines, style.color);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += labelled_as_is(i == 0 ? label : "", lines[i]);
  }
  return out;
}

std::string snapshot_age_text(const AnswerFrom& from) {
  std::string out;
  if (from.by == "daemon") {
    out = "by jetmemd (" + from.from + ")";
  } else if (from.by == "history") {
    out = "from the history";
  } else if (from.by == "capture") {
    out = "one reading of " + from.from;
  } else {
    out = "one reading, without jetmemd";
  }
  if (!from.version.empty()) out += ", jetmem " + from.version;
  if (from.wall) {
    out += ", ";
    out += moment_text(*from.wall, wall_now());
  } else {
    out += ", at a time not known";
  }
  return out;
}

}  // namespace jetmem
