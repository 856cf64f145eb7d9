// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pid_stat.h"

#include <gtest/gtest.h>

#include "collectors/processes/group/pids.h"

namespace jetmem {
namespace {

constexpr std::string_view kTail =
    " S 1 42 42 0 -1 4194560 1200 0 3 0 17 5 0 0 20 0 3 0 8123 31457280 2500 18446744073709551615 "
    "1 1 0 0 0 0 0 4096 17926 0 0 0 17 1 0 0 0 0 0\n";

TEST(PidStat, FieldsByTheirNumbers) {
  const auto stat = parse_pid_stat("42 (jetmemd)" + std::string(kTail));
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->utime_ticks, 17U);
  EXPECT_EQ(stat->stime_ticks, 5U);
  EXPECT_EQ(stat->threads, 3U);
  EXPECT_EQ(stat->start_ticks, 8123U);
  // The ugly ladder.
  EXPECT_EQ(parse_pid_stat("").error().message, "no command name");
  EXPECT_EQ(parse_pid_stat("42 (x)").error().message, "no state behind the command name");
  EXPECT_EQ(parse_pid_stat("42 (x) S 1 2").error().message, "ends before field 14");
}

TEST(PidStat, ResidentPagesAreOfStatmAndNeverZero) {
  EXPECT_EQ(parse_resident_pages("326 233 209 167 0 78 0\n"), 233U);
  for (const char* text : {"326 0 0 167 0 78 0\n", "326 23", "326", ""}) {
    EXPECT_EQ(parse_resident_pages(text), std::nullopt) << text;
  }
}

// A process chooses its own name, and may choose it to look like the rest of the line.
TEST(PidStat, AHostileNameShiftsNothing) {
  const auto stat = parse_pid_stat("42 (a) R 9 9) 9 (" + std::string(")") + std::string(kTail));
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->threads, 3U);
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

TEST(Pids, TheKernelCountsThoseThatAreHidden) {
  const Root root = Root::live();
  Snapshot snapshot;
  const ReadLimits limits{.files = 16, .names = 65536};
  Gatherer files(root, snapshot, limits);
  std::vector<std::string> names;
  ASSERT_EQ(files.list("/proc", names), 0);
  keep_pids(names);
  const auto all = hidden_processes(files, 0);
  if (!all) GTEST_SKIP() << "this /proc does not count its processes";
  // Some may have ended since.
  EXPECT_GE(*all + 20, names.size());
  if (!hides_processes(root, names)) {
    EXPECT_LE(*all, names.size() + 20);
  }
  EXPECT_EQ(hidden_processes(files, *all + 1000), 0U);
}

}  // namespace
}  // namespace jetmem
