// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cli/exit_codes.h"
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

TEST_F(CompactTest, ReadsBeforeAndAfter) {
  const auto report = compact_memory(files, clock);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(written(), "1");
  ASSERT_FALSE(report->zones.empty());
  EXPECT_EQ(report->zones[0].before, report->zones[0].after);
  EXPECT_TRUE(report->zones[0].before.largest_order);
}

TEST_F(CompactTest, UnreadableFreeListsPreventCompaction) {
  files.zoneinfo = directory.write("zoneinfo", "no zone\n");
  auto report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kMalformed);
  EXPECT_THAT(report.error().message, HasSubstr("zoneinfo: "));
  files.buddyinfo = directory.file("nothing");
  report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(written(), "") << "the kernel was not asked";
}

TEST_F(CompactTest, KernelWithoutCompaction) {
  files.trigger = directory.file("nothing");
  const auto report = compact_memory(files, clock);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kUnavailable);
  EXPECT_THAT(report.error().message, HasSubstr("this kernel cannot compact memory"));
}

TEST_F(CompactTest, NeedsRoot) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "needs another user than root";
  }
  const CommandRun run = run_command({"compact", "--json"});
  EXPECT_EQ(run.status, kExitDenied);
  EXPECT_THAT(run.err, HasSubstr("only root may"));
  EXPECT_THAT(run.out, HasSubstr("\"error\":"));
}

TEST_F(CompactTest, RefusesRootOption) {
  const CommandRun run = run_command({"compact", "--root", directory.path()});
  EXPECT_EQ(run.status, kExitUsage);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("--root"));
}

}  // namespace
}  // namespace jetmem
