// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/table.h"

#include <gtest/gtest.h>

#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

TEST(Table, WrapsAtBlanksOrBelowTheRow) {
  Table table{{"NAME"}, {"TEXT", Table::Align::kLeft, Table::Narrow::kWrap}};
  table.row({"first", "words that are never cut in two"});
  EXPECT_EQ(table.text(30), "NAME   TEXT\nfirst  words that are never\n       cut in two\n");
  EXPECT_EQ(table.text(20), "NAME   TEXT\nfirst\n    words that are\n    never cut in two\n");
}

TEST(Table, WhatIsCutSaysSo) {
  Table table{{"NAME", Table::Align::kLeft, Table::Narrow::kCut}, {"N", Table::Align::kRight}};
  table.row({"nvargus-daemon", "1"});
  table.row({"cam", "2"});
  table.row({"a"});
  EXPECT_EQ(table.text(17), "NAME            N\nnvargus-daemon  1\ncam             2\na\n");
  EXPECT_EQ(table.text(16), "NAME       N\nnvargus..  1\ncam        2\na\n");
  EXPECT_EQ(table.text(9), "NAME    N\nnvar..  1\ncam     2\na\n");
}

TEST(Table, ColumnsWithoutAFigureGoFirstAndThenByRank) {
  const auto table = [] {
    Table out{{"NAME"},
              {"A", Table::Align::kRight, Table::Narrow::kKeep, 1},
              {"B", Table::Align::kRight, Table::Narrow::kKeep, 2}};
    out.row({"cam", "17", "-"}, "\x1b[31m");
    return out;
  };
  const auto dropped = [&](std::size_t room) { return table().drop_columns(room); };
  EXPECT_EQ(dropped(11), "");
  EXPECT_EQ(dropped(10), "B");
  EXPECT_EQ(dropped(7), "B, A");
  EXPECT_EQ(table().text(Table::Style{80, false, true, 2}), "  \x1b[31mcam   17  -\x1b[0m\n");
}

TEST(Table, NoCellSteersTheTerminal) {
  Table table{{"NAME"}};
  table.row({"a\x1b[2Jb\n"});
  EXPECT_EQ(table.text(80), "NAME\na?[2Jb?\n");
}

TEST(Table, ACharacterTakesOneColumnWithoutUtf8Too) {
  Table table{{"NAME"}, {"N"}};
  table.row({"a\xef\xbf\xbd\xef\xbf\xbd", "1"});
  EXPECT_EQ(table.text(80),
            has_utf8() ? "NAME  N\na\xef\xbf\xbd\xef\xbf\xbd   1\n" : "NAME  N\na??   1\n");
}

}  // namespace
}  // namespace jetmem
