// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/root/small_file.h"
#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBefore =
    "Node 0, zone      DMA      1   1   1   1   1   1   1   1   1   1   1\n"
    "Node 0, zone   Normal   1000 100  10   1   0   0   0   0   0   0   4\n";
constexpr std::string_view kAfter =
    "Node 0, zone      DMA      1   1   1   1   1   1   1   1   1   1   1\n"
    "Node 0, zone   Normal      0   4   0   0   0   0   0   0   0   1   4\n";

std::string zoneinfo_text(const std::string& free_cma) {
  std::string text;
  for (const char* zone : {"DMA", "Normal"}) {
    text +=
        std::string("Node 0, zone ") + zone +
        "\n  pages free     5000\n        min      10\n        low      20\n        high     30\n"
        "        spanned  9000\n        present  9000\n        managed  8000\n";
    if (!free_cma.empty()) {
      text +=
          "      nr_free_cma  " + std::string(zone == std::string("DMA") ? "0" : free_cma) + "\n";
    }
    text += "  pagesets\n";
  }
  return text;
}

class CompactTest : public testing::Test {
 protected:
  CompactTest() {
    files.buddyinfo = board("x86-pc/proc/buddyinfo");
    files.zoneinfo = board("x86-pc/proc/zoneinfo");
    files.trigger = directory.write("compact_memory", "");
  }
  std::string written() const { return read_small_file(files.trigger).value(); }
  TempDir directory;
  CompactFiles files;
  ManualClock clock;
};

TEST_F(CompactTest, ReadsBeforeAndAfter) {
  const auto report = must(compact_memory(files, clock));
  EXPECT_EQ(written(), "1");
  ASSERT_FALSE(report.zones.empty());
  EXPECT_EQ(report.zones[0].before.unusable, report.zones[0].after.unusable);
  EXPECT_TRUE(report.zones[0].before.largest_order);
}

// Asked for the time before and after compaction: the second time the free lists have changed.
class CompactionClock final : public Clock {
 public:
  explicit CompactionClock(const TempDir& directory) : directory_(directory) {}
  Nanoseconds mono() const override {
    if (time_ > Nanoseconds(0)) directory_.write("buddyinfo", kAfter);
    return time_ += std::chrono::milliseconds(1250);
  }
  Nanoseconds boot() const override { return time_; }
  Nanoseconds wall() const override { return time_; }

 private:
  const TempDir& directory_;
  mutable Nanoseconds time_{0};
};

TEST_F(CompactTest, WhatItBroughtOutsideCma) {
  files.buddyinfo = directory.write("buddyinfo", kBefore);
  // The four blocks of order 10 are CMA's: 4096 pages.
  files.zoneinfo = directory.write("zoneinfo", zoneinfo_text("4096"));
  const auto report = must(compact_memory(files, CompactionClock(directory)));
  ASSERT_EQ(report.zones.size(), 2U);
  const CompactionReport::Zone& normal = report.zones[1];
  EXPECT_EQ(normal.id.name, "Normal");
  EXPECT_EQ(normal.before.largest_order, 3U);
  EXPECT_EQ(normal.after.largest_order, 9U);
  EXPECT_EQ(normal.before.unusable[0], 1.0);
  // 8 of 520 pages lie below order 6.
  EXPECT_NEAR(*normal.after.unusable[0], 8.0 / 520, 1e-12);
  EXPECT_NEAR(*normal.after.unusable[1], 8.0 / 520, 1e-12);
  EXPECT_EQ(
      compaction_json(report),
      R"({"format":1,"seconds":1.25,)"
      R"("zones":[{"node":0,"zone":"DMA","before":{"largest_order":10,"unusable_ratio":{"6":0.030776746458231558,"9":0.24963361016121152}},)"
      R"("after":{"largest_order":10,"unusable_ratio":{"6":0.030776746458231558,"9":0.24963361016121152}}},)"
      R"({"node":0,"zone":"Normal","before":{"largest_order":3,"unusable_ratio":{"6":1,"9":1}},)"
      R"("after":{"largest_order":9,"unusable_ratio":{"6":0.015384615384615385,"9":0.015384615384615385}}}]})"
      "\n");
}

TEST_F(CompactTest, WithoutTheFreeCmaPagesNothingIsSaid) {
  files.buddyinfo = directory.write("buddyinfo", kBefore);
  files.zoneinfo = directory.write("zoneinfo", zoneinfo_text(""));
  const auto report = must(compact_memory(files, clock));
  ASSERT_EQ(report.zones.size(), 2U);
  EXPECT_FALSE(report.zones[1].before.largest_order) << "absent, not the flattered figure";
  EXPECT_THAT(compaction_json(report),
              HasSubstr(R"("before":{"largest_order":null,"unusable_ratio":{"6":null,"9":null}})"));
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
  EXPECT_TRUE(
      gives(run_command({"compact", "--json"}), kExitDenied, {"\"error\":"}, {"only root may"}));
}

}  // namespace
}  // namespace jetmem
