// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pid_stat.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

constexpr std::string_view kTail =
    " S 1 42 42 0 -1 4194560 1200 0 3 0 17 5 0 0 20 0 3 0 8123 31457280 2500 18446744073709551615 "
    "1 1 0 0 0 0 0 4096 17926 0 0 0 17 1 0 0 0 0 0\n";

std::string message(std::string_view text) {
  const auto stat = parse_pid_stat(text);
  return stat ? "no error" : stat.error().message;
}

TEST(PidStat, FieldsByTheirNumbers) {
  const auto stat = parse_pid_stat("42 (jetmemd)" + std::string(kTail));
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->utime_ticks, 17U);
  EXPECT_EQ(stat->stime_ticks, 5U);
  EXPECT_EQ(stat->threads, 3U);
  EXPECT_EQ(stat->start_ticks, 8123U);
}

TEST(PidStat, ResidentPagesAreOfStatmAndNeverZero) {
  EXPECT_EQ(parse_resident_pages("326 233 209 167 0 78 0\n"), 233U);
  EXPECT_EQ(parse_resident_pages("326 0 0 167 0 78 0\n"), std::nullopt);
  EXPECT_EQ(parse_resident_pages("326 23"), std::nullopt);
  EXPECT_EQ(parse_resident_pages("326"), std::nullopt);
  EXPECT_EQ(parse_resident_pages(""), std::nullopt);
}

// A process chooses its own name, and may choose it to look like the rest of the line.
TEST(PidStat, AHostileNameShiftsNothing) {
  const auto stat = parse_pid_stat("42 (a) R 9 9) 9 (" + std::string(")") + std::string(kTail));
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->threads, 3U);
}

TEST(PidStat, UglyLadder) {
  EXPECT_EQ(message(""), "no command name");
  EXPECT_EQ(message("42 (x)"), "no state behind the command name");
  EXPECT_EQ(message("42 (x) S 1 2"), "ends before field 14");
}

TEST(PidStat, AnOddFieldCostsThatField) {
  for (const std::string odd : {"17x", "-1", "99999999999999999999"}) {
    const auto stat =
        parse_pid_stat("42 (x) S 1 42 42 0 -1 1 1 0 3 0 " + odd + " 5 0 0 20 0 3 0 8123 1 1");
    ASSERT_TRUE(stat) << stat.error().message;
    EXPECT_EQ(stat->utime_ticks, std::nullopt) << odd;
    EXPECT_EQ(stat->stime_ticks, 5U);
    EXPECT_EQ(stat->start_ticks, 8123U);
  }
}

}  // namespace
}  // namespace jetmem
