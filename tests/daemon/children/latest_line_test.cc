// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/latest_line.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(NewestLine, OnlyWholeLines) {
  NewestLine line;
  line.feed("RAM 1");
  EXPECT_EQ(line.line(), "");
  line.feed("0/20MB\nRAM 2");
  EXPECT_EQ(line.line(), "RAM 10/20MB\n");
  line.take();
  EXPECT_EQ(line.line(), "");
  line.feed("\n");
  EXPECT_EQ(line.line(), "RAM 2\n");
  EXPECT_EQ(line.lines(), 2U);
  EXPECT_EQ(line.superseded(), 0U);
}

TEST(NewestLine, OfManyTheNewest) {
  NewestLine line;
  line.feed("a\nb\nc\nd");
  EXPECT_EQ(line.line(), "c\n");
  EXPECT_EQ(line.superseded(), 2U);
  line.feed("e\n");
  EXPECT_EQ(line.line(), "de\n");
  EXPECT_EQ(line.superseded(), 3U);
}

TEST(NewestLine, OneWithoutAnEndIsDroppedOnceAndCounted) {
  NewestLine line;
  line.feed("first\n");
  for (int i = 0; i < 100; ++i) line.feed(std::string(10'000, 'x'));
  EXPECT_EQ(line.too_long(), 1U);
  EXPECT_EQ(line.line(), "first\n");
  line.feed("its end\nlast\n");
  EXPECT_EQ(line.line(), "last\n");
  EXPECT_EQ(line.lines(), 2U);
  line.feed(std::string(NewestLine::kMaxLine - 1, 'y') + "\n");
  EXPECT_EQ(line.line().size(), NewestLine::kMaxLine);
  line.feed(std::string(NewestLine::kMaxLine, 'y') + "\n");
  EXPECT_EQ(line.too_long(), 2U);
}

TEST(NewestLine, AnotherStreamBeginsAnew) {
  NewestLine line;
  line.feed("a\nhalf of");
  line.restart();
  line.feed("b\n");
  EXPECT_EQ(line.line(), "b\n");
  EXPECT_EQ(line.superseded(), 0U);
}

}  // namespace
}  // namespace jetmem
