#include "cli/screen.h"

#include <chrono>
#include <vector>

#include "cli/figures.h"
#include "cli/terminal.h"

namespace jetmem {
namespace {

std::string_view escape_of(Paint paint) {
  switch (paint) {
    case Paint::kNone:
      return {};
    case Paint::kBold:
      return "\x1b[1m";
    case Paint::kDim:
      return "\x1b[2m";
    case Paint::kGood:
      return "\x1b[32m";
    case Paint::kWarn:
      return "\x1b[1;33m";
    case Paint::kBad:
      return "\x1b[1;31m";
    case Paint::kUnknown:
      return "\x1b[1;35m";
  }
  return {};
}

double wall_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ScreenLook look_of_terminal() { return {terminal_width(), wants_color(), has_utf8()}; }

std::string painted(const ScreenLook& look, Paint paint, std::string_view text) {
  const std::string_view escape = escape_of(paint);
  if (!look.color || escape.empty()) return std::string(text);
  return std::string(escape).append(text).append("\x1b[0m");
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (shown_width(text) <= width) return std::string(text);
  if (width <= 2) return std::string(width, '.');
  std::string out;
  std::size_t taken = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++taken > width - 2) break;
    out.push_back(c);
  }
  return out.append("..");
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = cut_to(text, width);
  return out.append(width - shown_width(out), ' ');
}

std::string labelled_as_is(std::string_view label, std::string_view text) {
  std::string out = padded(label, kLabelWidth).append(text);
  out.erase(out.find_last_not_of(' ') + 1);
  return out.append("\n");
}

std::string labelled(const ScreenLook& look, std::string_view label, std::string_view text,
                     std::size_t max_lines) {
  const std::size_t all = static_cast<std::size_t>(look.width);
  const std::size_t room = all > kLabelWidth + 10 ? all - kLabelWidth : 10;
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    std::string& line = lines.back();
    const std::size_t width = shown_width(line);
    if (width > 0 && width + 1 + shown_width(word) > room) {
      if (lines.size() == max_lines) {
        // Room for the dots is made out of the last words.
        while (shown_width(line) + 3 > room && line.find(' ') != std::string::npos) {
          line.erase(line.rfind(' '));
        }
        line.append(look.color ? " ..\x1b[0m" : " ..");
        break;
      }
      lines.emplace_back();
    }
    std::string& last = lines.back();
    if (!last.empty()) last.append(" ");
    last.append(word);
    text.remove_prefix(word.size());
  }
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += labelled_as_is(i == 0 ? label : "", lines[i]);
  }
  return out;
}

std::string looked_text(const AnswerFrom& from) {
  std::string out;
  if (from.by == "daemon") {
    out = "by jetmemd (" + from.from + ")";
  } else if (from.by == "history") {
    out = "out of the recorder's history";
  } else if (from.by == "capture") {
    out = "one look at " + from.from;
  } else {
    out = "one look, without jetmemd";
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
