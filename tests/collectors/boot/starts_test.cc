#include "collectors/boot/starts.h"

#include <gtest/gtest.h>

namespace jetmem::boot {
namespace {

using std::chrono::seconds;

TEST(Starts, TextAndBack) {
  Starts starts;
  starts.add("b00t", seconds(20));
  starts.add("b00t", seconds(4711));
  EXPECT_EQ(to_text(starts), "b00t\n20\n4711\n");
  Starts read;
  ASSERT_TRUE(parse_starts(to_text(starts), read));
  EXPECT_EQ(read, starts);
}

TEST(Starts, CountsThoseOfTheLastHour) {
  Starts starts;
  starts.add("b00t", seconds(20));
  starts.add("b00t", seconds(3000));
  starts.add("b00t", seconds(3700));
  EXPECT_EQ(starts.recent(seconds(3619)), 2U);
  EXPECT_EQ(starts.recent(seconds(3700)), 2U);
  EXPECT_EQ(starts.recent(seconds(6600)), 1U);
  EXPECT_EQ(starts.recent(seconds(7300)), 0U);
  EXPECT_EQ(starts.recent(seconds(10)), 0U) << "what is yet to come did not happen";
}

TEST(Starts, IsBoundedAndOfOneBoot) {
  Starts starts;
  for (int i = 0; i < 100; ++i) starts.add("b00t", seconds(i));
  EXPECT_EQ(starts.at.size(), Starts::kMost);
  EXPECT_EQ(starts.at.back(), 99U);
  starts.add("next", seconds(5));
  EXPECT_EQ(starts.at, std::vector<std::uint64_t>{5});
}

TEST(Starts, RefusesWhatIsNotWhole) {
  Starts read;
  std::string many = "b00t\n";
  for (int i = 0; i < 17; ++i) many += "1\n";
  for (const std::string& text :
       {std::string(), std::string("b00t"), std::string("\n1\n"), std::string("b00t\n12"),
        std::string("b00t\nx\n"), std::string("b00t\n1 2\n"), std::string("b\x1b[1m\n1\n"),
        std::string("b00t\n99999999999999999999\n"), std::string("b00t\n\n"),
        std::string(41, 'a') + "\n1\n", many}) {
    EXPECT_FALSE(parse_starts(text, read)) << text;
  }
}

}  // namespace
}  // namespace jetmem::boot
