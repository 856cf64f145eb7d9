// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"

#include <gtest/gtest.h>

#include "base/text/plain_text.h"

namespace jetmem {
namespace {

TEST(Text, NumbersThatOverflowAreRefused) {
  EXPECT_EQ(parse_u64("18446744073709551615\n"), 18446744073709551615ULL);
  EXPECT_EQ(parse_u64("00000000000000000000000000001"), 1U);
  EXPECT_EQ(parse_i64("-256000\n"), -256000);
  for (const char* bad : {"18446744073709551616", "99999999999999999999", "", "12x", "-1"}) {
    EXPECT_EQ(parse_u64(bad), std::nullopt) << bad;
  }
}

TEST(Text, PrintableKeepsUtf8AndDefusesTheRest) {
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(printable("\xc2\x9b"), "?");  // C1 CSI
  EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(printable("\xed\xa0\x80").substr(0, 3), "\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(printable(std::string(1000, 'x'), 10).size(), 10U);
}

TEST(Text, PrintableShowsCharactersThatOnlyChangeOthers) {
  for (const char* hidden : {"\u00ad", "\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u202a",
                             "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\U000e0041"}) {
    EXPECT_EQ(printable("a" + std::string(hidden) + "b"),
              "a\xef\xbf\xbd"
              "b")
        << hidden;
  }
  for (const char* shown : {"\u00e9", "\u0430", "\u2013", "\u20ac", "\u30ab", "\U0001f600"}) {
    EXPECT_EQ(printable(shown), shown);
  }
}

TEST(Text, NearestNameFindsTypos) {
  const std::vector<std::string_view> names{"interval", "enabled", "listen"};
  EXPECT_EQ(nearest_name("intervall", names), "interval");
  EXPECT_EQ(nearest_name("enalbed", names), "enabled");
  EXPECT_EQ(nearest_name("zzzzzz", names), "");
}

TEST(Text, LinesCountAndNeverReadPastTheEnd) {
  Lines lines("a\n\nb");
  std::string_view line;
  for (const char* expected : {"a", "", "b"}) {
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(lines.number(), 3U);
  EXPECT_FALSE(lines.next(line));
}

std::string plain(std::string_view raw) {
  std::string out;
  return make_plain(raw, out) ? out : std::string(raw);
}

TEST(PlainText, TerminalsMarkdownAndTypesetting) {
  EXPECT_EQ(plain("\x1b[32m[ 1.0]\x1b[0m cma\x1b[K: x"), "[ 1.0] cma: x");
  EXPECT_EQ(plain("\x1b]0;title\x07text\x1b(B"), "text");
  EXPECT_EQ(plain("^[[32mtext^[[0m"), "text");
  EXPECT_EQ(plain("[32m[ 1.0] [0m[1;31mtext[0m"), "[ 1.0] text");
  EXPECT_EQ(plain("ab\bc"), "ac");
  EXPECT_EQ(plain("\\[ 1.0\\] cma: cma\\_alloc"), "[ 1.0] cma: cma_alloc");
  EXPECT_EQ(plain("ret: \xe2\x88\x92"
                  "12\xe2\x80\xa6\xe2\x80\x8b\xc2\xa0\xe2\x80\x9cx\xe2\x80\x9d"),
            "ret: -12... \"x\"");
}

TEST(PlainText, WhatIsPlainStays) {
  for (const std::string_view text :
       {"<4>[    1.0] text", "[<c0013e1c>] (unwind)", "text \\x22quoted\\x22", "a & b", "&foo;",
        "addr=3D0000 size=5", "caf\xc3\xa9 \xc2", "[32m no other mark", "<size> of <p 5>", "a\\"}) {
    EXPECT_EQ(plain(text), text);
  }
}

}  // namespace
}  // namespace jetmem
