#include "cli/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

class CompactTest : public testing::Test {
 protected:
  CompactTest() {
    const std::string board = std::string(JETMEM_FIXTURES) + "/x86-pc/proc/";
    files.buddyinfo = board + "buddyinfo";
    files.zoneinfo = board + "zoneinfo";
    files.trigger = directory.write("compact_memory", "");
  }
  std::string written() {
    std::ifstream in(files.trigger);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempDir directory;
  CompactFiles files;
  ManualClock clock;
};

TEST_F(CompactTest, LooksBeforeAndAfter) {
  const auto report = compact_memory(files, clock);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(written(), "1");
  ASSERT_FALSE(report->zones.empty());
  EXPECT_EQ(report->zones[0].before, report->zones[0].after);
  EXPECT_TRUE(report->zones[0].before.largest_order);
}

TEST_F(CompactTest, WhatCannotBeReadIsNotCompacted) {
  files.zoneinfo = directory.write("zoneinfo", "no zone\n");
  auto report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kMalformed);
  EXPECT_THAT(report.error().message, HasSubstr("zoneinfo: line 1"));
  files.buddyinfo = directory.file("nothing");
  report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(written(), "") << "the kernel was not asked";
}

TEST_F(CompactTest, AKernelThatCannot) {
  files.trigger = directory.file("nothing");
  const auto report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kAbsent);
  EXPECT_THAT(report.error().message, HasSubstr("this kernel cannot compact memory"));
}

TEST_F(CompactTest, NotSoonerThanAllowed) {
  const std::string stamp = directory.file("last");
  const auto least = std::chrono::minutes(9);
  clock.advance(std::chrono::seconds(100));
  ASSERT_TRUE(take_turn(stamp, least, clock)) << "the first in this boot";
  clock.advance(std::chrono::minutes(8));
  auto refused = take_turn(stamp, least, clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("not again for 1m"));
  clock.advance(std::chrono::minutes(1));
  EXPECT_TRUE(take_turn(stamp, least, clock)) << "one that was refused does not count";
  EXPECT_FALSE(take_turn(stamp, least, clock));
}

TEST_F(CompactTest, AStampThatIsNoTimeCountsAsJustNow) {
  clock.advance(std::chrono::hours(1));
  for (const std::string text : {"garbage\n", "99999999999999999999\n", "3601\n", "12", "-1\n"}) {
    const std::string stamp = directory.write("last", text);
    auto refused = take_turn(stamp, std::chrono::minutes(9), clock);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, HasSubstr("not known"));
    clock.advance(std::chrono::minutes(8));
    EXPECT_FALSE(take_turn(stamp, std::chrono::minutes(9), clock)) << text;
    clock.advance(std::chrono::minutes(1));
    EXPECT_TRUE(take_turn(stamp, std::chrono::minutes(9), clock)) << text;
    clock = ManualClock();
    clock.advance(std::chrono::hours(1));
  }
  ASSERT_EQ(::symlink(files.trigger.c_str(), directory.file("link").c_str()), 0);
  EXPECT_FALSE(take_turn(directory.file("link"), std::chrono::minutes(9), clock));
  EXPECT_FALSE(take_turn(directory.file("nowhere/last"), std::chrono::minutes(9), clock));
  EXPECT_EQ(written(), "");
}

TEST_F(CompactTest, AUnitWithoutADirectoryDoesNothing) {
  ::unsetenv("RUNTIME_DIRECTORY");
  const CommandRun run =
      run_command(add_compact_command, {"compact", "--json", "--at-most-every", "9m"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("\"error\":"));
  EXPECT_THAT(run.err, HasSubstr("RUNTIME_DIRECTORY"));
  EXPECT_EQ(run_command(add_compact_command, {"compact", "--at-most-every", "often"}).status, 2);
}

TEST_F(CompactTest, OnlyRootMay) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may";
  }
  const CommandRun run = run_command(add_compact_command, {"compact", "--json"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("only root may"));
  EXPECT_THAT(run.out, HasSubstr("\"error\":"));
}

TEST_F(CompactTest, NotBelowAnotherRoot) {
  const CommandRun run = run_command(add_compact_command, {"compact", "--root", directory.path()});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("this machine only"));
}

}  // namespace
}  // namespace jetmem
