// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/table.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

// Text in fewer columns is read with effort.
constexpr std::size_t kLeastWrapped = 16;
// Fewer say nothing of a name, and more than enough say which it is.
constexpr std::size_t kLeastCut = 6;
constexpr std::size_t kGoodCut = 18;
constexpr std::string_view kGap = "  ";

// Without UTF-8 a terminal would show each byte of a character.
std::string printed_here(const std::string& cell) {
  const std::string text = printable(cell, std::string::npos);
  if (has_utf8()) return text;
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += c;
    if (byte >= 0xc0) out += '?';
  }
  return out;
}

bool is_blank(const std::string& cell) { return cell == "-" || cell == "0" || cell == "0 B"; }

}  // namespace

void Table::column(std::string name, Align align, Narrow narrow) {
  columns_.push_back({std::move(name), align, narrow});
}

void Table::row(std::vector<std::string> cells, std::string_view color) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printed_here(cell);
  rows_.push_back({std::move(cells), std::string(color)});
}

std::size_t Table::natural_width(std::size_t column) const {
  std::size_t width = shown_width(columns_[column].name);
  for (const Row& row : rows_) width = std::max(width, shown_width(row.cells[column]));
  return width;
}

std::string Table::drop_columns(std::size_t room) {
  const auto taken = [&](std::size_t of_cut) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t width = natural_width(i);
      out += (i > 0 ? kGap.size() : 0) +
             (columns_[i].narrow == Narrow::kCut ? std::min(width, of_cut) : width);
    }
    return out;
  };
  const std::size_t ranks = columns_.size();
  std::string dropped;
  for (const bool only_blank : {true, false}) {
    for (std::size_t rank = 1; rank <= ranks; ++rank) {
      const auto found = std::find_if(columns_.begin(), columns_.end(),
                                      [&](const Column& each) { return each.rank == rank; });
      if (found == columns_.end()) continue;
      if (taken(found->narrow == Narrow::kCut ? kLeastCut : kGoodCut) <= room) continue;
      const auto at = found - columns_.begin();
      if (only_blank && !std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
            return is_blank(*(row.cells.begin() + at));
          }))
        continue;
      dropped.append(dropped.empty() ? "" : ", ").append(found->name);
      columns_.erase(found);
      for (Row& row : rows_) row.cells.erase(row.cells.begin() + at);
    }
  }
  return dropped;
}

std::vector<std::size_t> Table::widths(std::size_t room) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) out.push_back(natural_width(i));
  for (const Narrow narrow : {Narrow::kCut, Narrow::kWrap}) {
    const std::size_t least = narrow == Narrow::kCut ? kLeastCut : kLeastWrapped;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (narrow == Narrow::kCut && columns_[i].narrow == Narrow::kWrap) continue;
      taken += out[i] + (i > 0 ? kGap.size() : 0);
    }
    // The widest gives first.
    for (; taken > room; --taken) {
      std::size_t* widest = nullptr;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].narrow != narrow || out[i] <= least) continue;
        if (widest == nullptr || out[i] > *widest) widest = &out[i];
      }
      if (widest == nullptr) break;
      --*widest;
    }
  }
  // What is cut behind a whole word is shorter.
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].narrow != Narrow::kCut) continue;
    std::size_t widest = shown_width(shortened(columns_[i].name, out[i]));
    for (const Row& row : rows_)
      widest = std::max(widest, shown_width(columns_[i].cut(row.cells[i], out[i])));
    out[i] = widest;
  }
  return out;
}

std::string Table::text(const Style& style) const {
  if (rows_.empty() || columns_.empty()) return {};
  const std::size_t all = static_cast<std::size_t>(std::max(style.width, 1));
  const std::size_t room = all - std::min(all - 1, style.indent);
  std::vector<std::size_t> width = widths(room);
  std::size_t taken = (width.size() - 1) * kGap.size();
  for (const std::size_t each : width) taken += each;
  // Where a column that wraps has little room, its text is below the row.
  const bool is_below = taken > room;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (is_below && columns_[i].narrow == Narrow::kWrap) width[i] = shown_width(columns_[i].name);
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells, bool is_heading,
                       std::string_view color) {
    std::vector<std::vector<std::string>> parts;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string cell = cells[i];
      if (columns_[i].narrow == Narrow::kCut)
        cell = (is_heading ? shortened : columns_[i].cut)(cell, width[i]);
      const bool is_wrapped = columns_[i].narrow == Narrow::kWrap && !is_heading;
      if (is_wrapped && is_below) cell.clear();
      parts.push_back(is_wrapped ? folded(cell, width[i]) : std::vector<std::string>{cell});
      lines = std::max(lines, parts[i].size());
    }
    for (std::size_t k = 0; k < lines; ++k) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = k < parts[i].size() ? parts[i][k] : "";
        const std::string blanks(width[i] - std::min(width[i], shown_width(cell)), ' ');
        line += i > 0 ? kGap : "";
        line += columns_[i].align == Align::kRight ? blanks + cell : cell + blanks;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      if (!line.empty()) out.append(style.indent, ' ');
      out += style.color && !color.empty() ? std::string(color) + line + "\x1b[0m" : line;
      out += "\n";
    }
  };
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  if (style.headings) add(names, true, {});
  const std::size_t indent = style.indent + 2 * kGap.size();
  for (const Row& row : rows_) {
    add(row.cells, false, row.color);
    for (std::size_t i = 0; is_below && i < columns_.size(); ++i) {
      if (columns_[i].narrow != Narrow::kWrap) continue;
      for (const std::string& part : folded(row.cells[i], all - std::min(all - 1, indent))) {
        if (!part.empty()) out.append(indent, ' ').append(part).append("\n");
      }
    }
  }
  return out;
}

}  // namespace jetmem
