// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(Text, NumbersThatOverflowAreRefused) {
  EXPECT_EQ(parse_u64("18446744073709551615\n"), 18446744073709551615ULL);
  EXPECT_EQ(parse_u64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_u64("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_u64("00000000000000000000000000001"), 1U);
  EXPECT_EQ(parse_u64(""), std::nullopt);
  EXPECT_EQ(parse_u64("12x"), std::nullopt);
  EXPECT_EQ(parse_u64("-1"), std::nullopt);
  EXPECT_EQ(parse_i64("-256000\n"), -256000);
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
  ASSERT_TRUE(lines.next(line));
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "b");
  EXPECT_EQ(lines.number(), 3U);
  EXPECT_FALSE(lines.next(line));
}

}  // namespace
}  // namespace jetmem
