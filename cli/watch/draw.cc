#include "cli/watch/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace jetmem::watch {
namespace {

constexpr std::array<const char*, 8> kEighths{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAsciiEighths{"_", "_", ".", "-", "-", "=", "^", "^"};

}  // namespace

std::string sparkline(const Model::Past& past, std::size_t cells, Glyphs glyphs) {
  const std::size_t count = std::min(cells, past.size());
  double least = 0;
  double most = 0;
  bool any = false;
  for (std::size_t i = past.size() - count; i < past.size(); ++i) {
    if (!past[i] || !std::isfinite(*past[i])) continue;
    least = any ? std::min(least, *past[i]) : *past[i];
    most = any ? std::max(most, *past[i]) : *past[i];
    any = true;
  }
  std::string out;
  for (std::size_t i = past.size() - count; i < past.size(); ++i) {
    if (!past[i] || !std::isfinite(*past[i])) {
      out += ' ';
      continue;
    }
    // What does not change is a line at the bottom, not noise at full height.
    const double share = most > least ? (*past[i] - least) / (most - least) : 0;
    const auto step = static_cast<std::size_t>(std::clamp(std::lround(share * 7), 0L, 7L));
    out += glyphs.blocks ? kEighths.at(step) : kAsciiEighths.at(step);
  }
  return out;
}

void add_bar(Line& line, const std::vector<Share>& shares, std::size_t cells) {
  const bool blocks = line.glyphs().utf8;
  line.add("[");
  double sum = 0;
  std::size_t drawn = 0;
  for (const Share& share : shares) {
    if (!std::isfinite(share.ratio) || share.ratio <= 0) continue;
    sum += share.ratio;
    // Ends are rounded, not lengths: the whole stays right.
    const double end =
        std::clamp(std::round(sum * static_cast<double>(cells)), 0.0, static_cast<double>(cells));
    const auto until = static_cast<std::size_t>(end);
    for (; drawn < until; ++drawn) {
      line.add(blocks && share.letter == '#' ? "█" : std::string(1, share.letter), share.style);
    }
  }
  line.add(std::string(cells - drawn, ' '));
  line.add("]");
}

std::string shade(double ratio, Glyphs glyphs) {
  static constexpr std::array<const char*, 5> kShades{" ", "░", "▒", "▓", "█"};
  static constexpr std::array<const char*, 5> kAscii{" ", ".", ":", "+", "#"};
  const auto step = static_cast<std::size_t>(std::clamp(std::ceil(ratio * 4), 0.0, 4.0));
  return glyphs.utf8 ? kShades.at(step) : kAscii.at(step);
}

Style grade(double value, double warning, double critical) {
  if (value >= critical) return Style::kCritical;
  return value >= warning ? Style::kWarning : Style::kGood;
}

void add_wrapped(std::vector<Line>& to, std::string_view text, std::size_t indent,
                 std::size_t columns, Glyphs glyphs, Style style) {
  constexpr std::size_t kMaxLines = 20;
  const std::size_t room = columns > indent + 1 ? columns - indent : 1;
  std::string safe = safe_text(text, glyphs);
  for (std::size_t lines = 0; !safe.empty() && lines < kMaxLines; ++lines) {
    std::string part = cut_text(safe, room);
    if (part.empty()) part = "?";  // a wide character, and room for a narrow one
    if (part.size() < safe.size() && safe[part.size()] != ' ') {
      const std::size_t blank = part.find_last_of(' ');
      if (blank != std::string::npos && blank > 0) part.resize(blank);
    }
    Line line(glyphs);
    line.add(std::string(indent, ' ')).add(part, style);
    to.push_back(std::move(line));
    safe.erase(0, std::max<std::size_t>(part.size(), 1));
    safe.erase(0, std::min(safe.find_first_not_of(' '), safe.size()));
  }
}

}  // namespace jetmem::watch
