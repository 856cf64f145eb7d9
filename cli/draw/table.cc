// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/table.h"

#include <libsmartcols/libsmartcols.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "base/text/text.h"
#include "cli/draw/shorten.h"
#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

struct TableFree {
  void operator()(libscols_table* table) const { scols_unref_table(table); }
};
struct TextFree {
  void operator()(char* text) const { std::free(text); }
};

int flags_of(Table::Align align, Table::Narrow narrow) {
  int flags = align == Table::Align::kRight ? SCOLS_FL_RIGHT : 0;
  if (narrow == Table::Narrow::kWrap) flags |= SCOLS_FL_WRAP;
  return flags;
}

// Text in fewer columns is read with effort.
constexpr std::size_t kLeastWrapped = 16;
// Fewer say nothing of a name.
constexpr std::size_t kLeastCut = 6;
constexpr std::string_view kGap = "  ";

// Without UTF-8 the library would write each byte of a character as four, "\xef".
std::string printed_here(const std::string& cell) {
  if (has_utf8()) return cell;
  std::string out;
  for (const char c : cell) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += c;
    if (byte >= 0xc0) out += '?';
  }
  return out;
}

}  // namespace

void Table::column(std::string name, Align align, Narrow narrow) {
  columns_.push_back({std::move(name), align, narrow});
}

void Table::row(std::vector<std::string> cells, std::string_view color) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), std::string(color)});
}

std::size_t Table::natural_width(std::size_t column) const {
  std::size_t width = shown_width(columns_[column].name);
  for (const Row& row : rows_) width = std::max(width, shown_width(row.cells[column]));
  return width;
}

std::vector<std::size_t> Table::widths(std::size_t room) const {
  std::vector<std::size_t> out;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out.push_back(natural_width(i));
    if (columns_[i].narrow != Narrow::kWrap) taken += out.back() + (i > 0 ? kGap.size() : 0);
  }
  // The widest gives first.
  for (; taken > room; --taken) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t least = std::max(shown_width(columns_[i].name), kLeastCut);
      if (columns_[i].narrow != Narrow::kCut || out[i] <= least) continue;
      if (widest == nullptr || out[i] > *widest) widest = &out[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return out;
}

std::string Table::text(const Style& style) const {
  if (rows_.empty() || columns_.empty()) return {};
  use_terminal_locale();
  const std::unique_ptr<libscols_table, TableFree> table(scols_new_table());
  // The library's only failure here is that there is no memory.
  const auto check = [](bool fine) {
    if (!fine) throw std::bad_alloc();
  };
  check(table != nullptr);
  const std::size_t room = static_cast<std::size_t>(std::max(style.width, 1));
  scols_table_set_termforce(table.get(), SCOLS_TERMFORCE_ALWAYS);
  scols_table_set_termwidth(table.get(), room > style.indent ? room - style.indent : 1);
  scols_table_enable_noheadings(table.get(), style.headings ? 0 : 1);
  scols_table_enable_colors(table.get(), style.color ? 1 : 0);
  scols_table_set_column_separator(table.get(), kGap.data());
  // What a column that wraps has, so that it breaks at blanks; below the rows where that is little.
  std::size_t left = room - std::min(room, style.indent);
  const std::vector<std::size_t> width = widths(left);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].narrow == Narrow::kWrap) continue;
    left -= std::min(left, width[i] + kGap.size());
  }
  const bool is_below = left < kLeastWrapped;
  for (const Column& column : columns_) {
    libscols_column* made = scols_table_new_column(table.get(), column.name.c_str(), 0,
                                                   flags_of(column.align, column.narrow));
    check(made != nullptr);
    if (column.narrow != Narrow::kWrap) continue;
    check(scols_column_set_safechars(made, "\n") == 0);
    check(scols_column_set_wrapfunc(made, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
                                    nullptr) == 0);
  }
  for (const Row& row : rows_) {
    libscols_line* line = scols_table_new_line(table.get(), nullptr);
    check(line != nullptr);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::string cell = row.cells[i];
      if (columns_[i].narrow == Narrow::kCut) cell = shortened(cell, width[i]);
      if (columns_[i].narrow == Narrow::kWrap) {
        const std::string text = std::exchange(cell, {});
        if (!is_below) {
          for (const std::string& part : folded(text, left))
            cell += (cell.empty() ? "" : "\n") + part;
        }
      }
      check(scols_line_set_data(line, i, printed_here(cell).c_str()) == 0);
    }
    if (style.color && !row.color.empty()) {
      check(scols_line_set_color(line, row.color.c_str()) == 0);
    }
  }
  char* raw = nullptr;
  // Where it has no memory for a cell it prints on without it, and says that all is well.
  errno = 0;
  check(scols_print_table_to_string(table.get(), &raw) == 0 && raw != nullptr);
  const bool refused = errno == ENOMEM;
  const std::unique_ptr<char, TextFree> printed(raw);
  check(!refused);
  std::string out;
  Lines lines(printed.get());
  std::string_view line;
  const std::size_t headings = style.headings ? 1 : 0;
  while (lines.next(line)) {
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    if (!line.empty()) out.append(style.indent, ' ').append(line);
    out.append("\n");
    if (!is_below || lines.number() <= headings || lines.number() - headings > rows_.size())
      continue;
    const Row& row = rows_[lines.number() - headings - 1];
    const std::size_t indent = style.indent + 2 * kGap.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].narrow != Narrow::kWrap) continue;
      for (const std::string& part : folded(row.cells[i], room - std::min(room - 1, indent))) {
        if (!part.empty()) out.append(indent, ' ').append(part).append("\n");
      }
    }
  }
  return out;
}

}  // namespace jetmem
