// SPDX-License-Identifier: Apache-2.0
#include "metrics/series_key.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(SeriesKey, IsTakenApartAndPutTogether) {
  const auto name = parse_series_key(R"(jetmem_x_bytes{area="linux,cma",b="a\"b\\c\nd"})");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->family, "jetmem_x_bytes");
  EXPECT_EQ(name->label("area"), "linux,cma");
  EXPECT_EQ(name->label("b"), "a\"b\\c\nd");
  EXPECT_EQ(name->label("c"), "");
  EXPECT_EQ(name->key(), R"(jetmem_x_bytes{area="linux,cma",b="a\"b\\c\nd"})");
  EXPECT_EQ(parse_series_key("jetmem_x")->key(), "jetmem_x");
}

TEST(SeriesKey, WhatIsNoneSaysWhere) {
  for (const char* key : {"", "1x", "x{", "x{}y", "x{a}", "x{a=\"b}", "x{a=\"b\" }", "x{a=\"\\q\"}",
                          "x{a=\"b\"c=\"d\"}", "x{a=\"b\",}"}) {
    EXPECT_FALSE(parse_series_key(key)) << key;
  }
  EXPECT_EQ(parse_series_key("x{a=1}").error().message,
            "series name 'x{a=1}', character 4: expected =\" and a label's value");
}

}  // namespace
}  // namespace jetmem
