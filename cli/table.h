// Tables for a terminal: libsmartcols, which knows how wide characters are, behind few words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem {

class Table {
 public:
  enum class Align { kLeft, kRight };
  // What becomes of a column when the table is wider than the terminal.
  enum class Narrow { kKeep, kCut, kWrap };

  void column(std::string name, Align align = Align::kLeft, Narrow narrow = Narrow::kKeep);
  // Missing cells are empty; those beyond the columns are dropped. `color`: an escape sequence
  // ("\x1b[31m") for the whole row, used where text() is asked for colour.
  void row(std::vector<std::string> cells, std::string_view color = {});

  std::size_t rows() const { return rows_.size(); }

  struct Look {
    int width = 80;
    bool headings = true;
    bool color = false;
    std::size_t indent = 0;  // blanks before each line, within the width
  };
  // Lines that end with a newline, without blanks at their ends; empty when there is no row. What
  // the locale cannot show is written as \x1b is.
  std::string text(const Look& look) const;
  std::string text(int width) const { return text(Look{width, true, false, 0}); }

 private:
  struct Column {
    std::string name;
    Align align;
    Narrow narrow;
  };
  struct Row {
    std::vector<std::string> cells;
    std::string color;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace jetmem
