// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMiB = 1 << 20;

DeviceNow with_free(double mebibytes) {
  DeviceNow now;
  const std::vector<std::pair<std::string, double>> series{
      {"jetmem_meminfo_MemAvailable_bytes", 1000 * kMiB},
      {"jetmem_meminfo_MemFree_bytes", mebibytes * kMiB},
      {"jetmem_gpu_free_hidden_ratio", 0.5}};
  now.samples = SampleSet::of(series);
  return now;
}

// A machine whose free memory, in MiB, is the next of a list at each look.
class MakeRoomTest : public testing::Test {
 protected:
  MakeRoomTest() {
    const std::string board = std::string(JETMEM_FIXTURES) + "/x86-pc/proc/";
    maker.compact.buddyinfo = board + "buddyinfo";
    maker.compact.zoneinfo = board + "zoneinfo";
    maker.compact.trigger = directory.write("compact_memory", "");
    maker.drop_caches = directory.write("drop_caches", "");
    maker.read = [this]() -> Result<DeviceNow> {
      const DeviceNow now = with_free(free.front());
      if (free.size() > 1) free.erase(free.begin());
      return now;
    };
    maker.sleep = [this](std::chrono::milliseconds time) { clock.advance(time); };
  }
  Result<RoomMade> make(double mebibytes, std::chrono::milliseconds wait = {},
                        bool dry_run = false) {
    return maker.make({MemoryKind::kDevice, mebibytes * kMiB, wait, dry_run});
  }
  static std::string written(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempDir directory;
  ManualClock clock;
  std::vector<double> free{100};
  RoomMaker maker{.clock = clock};
};

TEST_F(MakeRoomTest, DoesNothingThatIsNotNeeded) {
  const auto made = make(50);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->done, IsEmpty());
  EXPECT_EQ(made->after.fit, Fit::kNow);
  EXPECT_EQ(written(maker.drop_caches), "");
}

TEST_F(MakeRoomTest, NothingHelpsWhereItNeverFits) {
  const auto made = make(2000);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->done, IsEmpty());
  EXPECT_EQ(made->after.fit, Fit::kNo);
  EXPECT_EQ(written(maker.drop_caches), "");
}

TEST_F(MakeRoomTest, DropsThePageCacheFirst) {
  free = {100, 800};
  const auto made = make(500);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->done.size(), 1U);
  EXPECT_EQ(made->before.fit, Fit::kAfterMakingRoom);
  EXPECT_EQ(made->after.fit, Fit::kNow);
  EXPECT_EQ(written(maker.drop_caches), "1");
  EXPECT_EQ(written(maker.compact.trigger), "") << "that was enough";
}

TEST_F(MakeRoomTest, ThenWaits) {
  free = {100, 100, 100, 800};
  const auto made = make(500, std::chrono::seconds(30));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->done.size(), 1U);
  EXPECT_EQ(made->after.fit, Fit::kNow);
  EXPECT_EQ(written(maker.compact.trigger), "") << "it makes no memory free";
  EXPECT_EQ(clock.mono(), ManualClock().mono() + std::chrono::seconds(2));
  free = {100};
  const auto in_vain = make(500, std::chrono::seconds(3));
  ASSERT_TRUE(in_vain);
  EXPECT_EQ(in_vain->after.fit, Fit::kAfterMakingRoom);
}

TEST_F(MakeRoomTest, ABlockIsMadeByCompaction) {
  maker.read = []() -> Result<DeviceNow> {
    DeviceNow now = with_free(500);
    const std::vector<std::pair<std::string, double>> series{
        {"jetmem_meminfo_MemAvailable_bytes", 1000 * kMiB},
        {"jetmem_buddy_free_blocks{node=\"0\",zone=\"DMA\",order=\"0\"}", 1000},
        {"jetmem_buddy_free_bytes{node=\"0\",zone=\"DMA\",order=\"0\"}", 1000 * 4096},
        {"jetmem_buddy_free_blocks{node=\"0\",zone=\"DMA\",order=\"10\"}", 0},
        {"jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"DMA\"}", 0}};
    now.samples = SampleSet::of(series);
    return now;
  };
  const auto made = maker.make({MemoryKind::kContiguous, kMiB, {}, false});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->done.size(), 3U);
  EXPECT_EQ(written(maker.drop_caches), "1");
  EXPECT_EQ(written(maker.compact.trigger), "1");
}

TEST_F(MakeRoomTest, ADryRunChangesNothing) {
  const auto made = make(500, std::chrono::seconds(30), /*dry_run=*/true);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->done.size(), 2U);
  EXPECT_EQ(written(maker.drop_caches) + written(maker.compact.trigger), "");
  EXPECT_EQ(clock.mono(), ManualClock().mono());
}

TEST_F(MakeRoomTest, SaysWhatCouldNotBeWritten) {
  maker.drop_caches = directory.file("nothing");
  const auto made = make(500);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr(maker.drop_caches));
  EXPECT_EQ(written(maker.compact.trigger), "");
}

TEST(Fits, HasAStatusForEachAnswer) {
  const TempDir root;
  root.write("proc/meminfo",
             "MemTotal: 8000000 kB\nMemFree: 100000 kB\nMemAvailable: 4000000 kB\n");
  EXPECT_EQ(run_command({"--root", root.path(), "fits", "50MiB"}).status, kExitUnknown) << "no GPU";
  root.write("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic\n");
  const auto status = [&](const char* size, const char* kind) {
    return run_command({"--root", root.path(), "fits", size, "--kind", kind}).status;
  };
  EXPECT_EQ(status("50MiB", "device"), kExitOk);
  EXPECT_EQ(status("1GiB", "device"), kExitWarning);
  EXPECT_EQ(status("6GiB", "device"), kExitCritical);
  EXPECT_EQ(status("1MiB", "contiguous"), kExitUnknown);
  EXPECT_EQ(status("1MiB", "none"), kExitUsage);
  EXPECT_EQ(status("much", "device"), kExitUsage);
  const CommandRun json = run_command({"--root", root.path(), "fits", "1GiB", "--json"});
  const auto answer = nlohmann::json::parse(json.out);
  EXPECT_EQ(answer["fits"], "after_making_room");
  EXPECT_EQ(answer["bytes"], 1 << 30);
}

}  // namespace
}  // namespace jetmem
