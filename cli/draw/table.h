// SPDX-License-Identifier: Apache-2.0
// Tables for a terminal.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/draw/shorten.h"
#include "cli/draw/terminal.h"

namespace jetmem {

class Table {
 public:
  enum class Align { kLeft, kRight };
  // How a column shrinks when the table is wider than the terminal. One that is cut ends in "..";
  // one that wraps does so at blanks, or stands below its row where less than 16 columns are left.
  enum class Narrow { kKeep, kCut, kWrap };

  struct Column {
    std::string name;
    Align align = Align::kLeft;
    Narrow narrow = Narrow::kKeep;
    // By which drop_columns() chooses: 1 goes first, 0 never.
    std::size_t rank = 0;
    std::string (*cut)(std::string_view text, std::size_t width) = shortened;
  };

  Table() = default;
  Table(std::initializer_list<Column> columns) : columns_(columns) {}
  void column(std::string name, Align align = Align::kLeft, Narrow narrow = Narrow::kKeep);
  void column(Column column) { columns_.push_back(std::move(column)); }
  // Missing cells are empty; those beyond the columns are dropped. `color`: an escape sequence
  // ("\x1b[31m") for the whole row, used where text() is asked for colour.
  void row(std::vector<std::string> cells, std::string_view color = {});

  std::size_t rows() const { return rows_.size(); }
  // Those that may go and have no room in so many columns, those without a figure first; their
  // names.
  std::string drop_columns(std::size_t room);

  struct Style {
    int width = 80;
    bool headings = true;
    bool color = false;
    std::size_t indent = 0;  // blanks before each line, within the width
  };
  // Lines that end with a newline, without blanks at their ends; empty when there is no row. What
  // is no character of the locale, or steers a terminal, is a question mark or U+FFFD.
  std::string text(const Style& style) const;
  std::string text(const ScreenStyle& style, std::size_t indent) const {
    return text(Style{style.width, true, style.color, indent});
  }
  std::string text(int width = 80) const { return text(Style{width, true, false, 0}); }

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string color;
  };
  std::size_t natural_width(std::size_t column) const;
  // Of each column, so that those that can be cut or wrapped fit into `room`.
  std::vector<std::size_t> widths(std::size_t room) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace jetmem
