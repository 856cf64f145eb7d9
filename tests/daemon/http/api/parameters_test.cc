// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/parameters.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace jetmem {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ParseSeconds, ExactDecimalsAndNothingElse) {
  EXPECT_EQ(parse_seconds("0"), seconds(0));
  EXPECT_EQ(parse_seconds("-3600"), -seconds(3600));
  EXPECT_EQ(parse_seconds("1790000000.123456789"), nanoseconds(1'790'000'000'123'456'789));
  EXPECT_EQ(parse_seconds("1.5"), nanoseconds(1'500'000'000));
  EXPECT_EQ(parse_seconds("1.00000000099999"), seconds(1));
  EXPECT_EQ(parse_seconds("9000000000"), seconds(9'000'000'000));
  for (const char* text : {"", "-", ".", "1.", ".5", "1e9", "+1", " 1", "1 ", "0x10", "nan", "inf",
                           "--1", "1.5.2", "9000000001", "99999999999999999999999", "1,5"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_seconds(std::string_view("1\0", 2)), std::nullopt);
}

TEST(Parameters, OnlyWhatIsKnownAndOnce) {
  constexpr std::array<std::string_view, 2> kNames{"from", "limit"};
  const auto error = [&](std::vector<Parameter> all) {
    const auto result = Parameters(all).only(kNames);
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({{"from", "1"}, {"limit", ""}}), "");
  EXPECT_EQ(error({{"form", "1"}}), "there is no parameter \"form\" here");
  EXPECT_EQ(error({{"\x1b[2J", "1"}}), "there is no parameter \"?[2J\" here");
  EXPECT_EQ(error({{"from", "1"}, {"from", "2"}}), "from is given twice");
  const std::string longest(4096, 'x');
  EXPECT_EQ(error({{"from", longest}}), "");
  const std::string too_long(4097, 'x');
  EXPECT_EQ(error({{"from", too_long}}), "from is longer than 4096 bytes");
  EXPECT_EQ(error(std::vector<Parameter>(17, Parameter{"from", ""})), "more than 16 parameters");
}

TEST(Parameters, NumbersAreChecked) {
  const std::vector<Parameter> all{{"a", "10"}, {"b", "0"}, {"c", "ten"}, {"d", "-7"}, {"e", ""}};
  const Parameters parameters(all);
  EXPECT_EQ(*parameters.count("a", 5, 10), 10U);
  EXPECT_EQ(*parameters.count("none", 5, 10), 5U);
  EXPECT_FALSE(parameters.count("a", 5, 9));
  for (const char* name : {"b", "c", "d", "e"}) EXPECT_FALSE(parameters.count(name, 5, 10)) << name;
  EXPECT_EQ(parameters.count("c", 5, 10).error().message,
            "c=\"ten\" is not a whole number from 1 to 10");
  EXPECT_EQ(**parameters.number("d"), -7);
  EXPECT_EQ(*parameters.number("none"), std::nullopt);
  EXPECT_FALSE(parameters.number("c"));
  EXPECT_EQ((*parameters.moment("a"))->at(seconds(100)), seconds(10));
  EXPECT_EQ((*parameters.moment("d"))->at(seconds(100)), seconds(93));
  EXPECT_FALSE(parameters.moment("c"));
  EXPECT_FALSE(parameters.duration("d"));
}

}  // namespace
}  // namespace jetmem
