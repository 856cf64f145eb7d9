// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "base/root/small_file.h"
#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

DeviceNow with_free(double mebibytes, std::vector<std::pair<std::string, double>> more = {}) {
  DeviceNow now;
  more.insert(more.end(), {{"jetmem_meminfo_MemAvailable_bytes", 1000 * kMiB},
                           {"jetmem_meminfo_MemFree_bytes", mebibytes * kMiB},
                           {"jetmem_gpu_free_hidden_ratio", 0.5}});
  now.samples = SampleSet::of(more);
  return now;
}

// A machine whose free memory, in MiB, is the next of a list at each look.
class MakeRoomTest : public testing::Test {
 protected:
  MakeRoomTest() {
    maker.compact.buddyinfo = board("x86-pc/proc/buddyinfo");
    maker.compact.zoneinfo = board("x86-pc/proc/zoneinfo");
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
  std::string dropped() const { return read_small_file(maker.drop_caches).value(); }
  std::string compacted() const { return read_small_file(maker.compact.trigger).value(); }
  TempDir directory;
  ManualClock clock;
  std::vector<double> free{100};
  RoomMaker maker{.clock = clock};
};

TEST_F(MakeRoomTest, TriesWhatHelpsInOrder) {
  using std::chrono::seconds;
  struct Case {
    const char* what;
    std::vector<double> free;
    double needed;
    int wait;
    std::size_t done;
    Fit after;
    const char* dropped;
    int waited;
  };
  const Case cases[] = {
      {"it fits", {100}, 50, 0, 0, Fit::kNow, "", 0},
      {"nothing helps", {100}, 2000, 0, 0, Fit::kNo, "", 0},
      {"the page cache is enough", {100, 800}, 500, 0, 1, Fit::kNow, "1", 0},
      {"then it waits", {100, 100, 100, 800}, 500, 30, 1, Fit::kNow, "1", 2},
      {"it waits in vain", {100}, 500, 3, 1, Fit::kAfterMakingRoom, "1", 3},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    directory.write("drop_caches", "");
    free = each.free;
    const Nanoseconds begin = clock.mono();
    const auto made = must(make(each.needed, seconds(each.wait)));
    EXPECT_EQ(made.done.size(), each.done);
    EXPECT_EQ(made.after.fit, each.after);
    EXPECT_EQ(dropped(), each.dropped);
    EXPECT_EQ(compacted(), "") << "it makes no memory free";
    EXPECT_EQ(clock.mono() - begin, seconds(each.waited));
  }
}

TEST_F(MakeRoomTest, ABlockIsMadeByCompaction) {
  maker.read = []() -> Result<DeviceNow> {
    return with_free(500,
                     {{"jetmem_buddy_free_blocks{node=\"0\",zone=\"DMA\",order=\"0\"}", 1000},
                      {"jetmem_buddy_free_bytes{node=\"0\",zone=\"DMA\",order=\"0\"}", 1000 * 4096},
                      {"jetmem_buddy_free_blocks{node=\"0\",zone=\"DMA\",order=\"10\"}", 0},
                      {"jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"DMA\"}", 0}});
  };
  EXPECT_EQ(must(maker.make({MemoryKind::kContiguous, kMiB, {}, false})).done.size(), 3U);
  EXPECT_EQ(dropped(), "1");
  EXPECT_EQ(compacted(), "1");
}

TEST_F(MakeRoomTest, ADryRunChangesNothing) {
  const auto made = must(make(500, std::chrono::seconds(30), /*dry_run=*/true));
  EXPECT_EQ(made.before.fit, Fit::kAfterMakingRoom);
  EXPECT_EQ(made.done.size(), 2U);
  EXPECT_EQ(dropped() + compacted(), "");
  EXPECT_EQ(clock.mono(), ManualClock().mono());
}

TEST_F(MakeRoomTest, SaysWhatCouldNotBeWritten) {
  maker.drop_caches = directory.file("nothing");
  const auto made = make(500);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr(maker.drop_caches));
  EXPECT_EQ(compacted(), "");
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
  for (const auto& [size, kind, expected] :
       {std::tuple("50MiB", "device", kExitOk), std::tuple("1GiB", "device", kExitWarning),
        std::tuple("6GiB", "device", kExitCritical), std::tuple("1MiB", "contiguous", kExitUnknown),
        std::tuple("1MiB", "none", kExitUsage), std::tuple("much", "device", kExitUsage)}) {
    EXPECT_EQ(status(size, kind), expected) << size << " " << kind;
  }
  const auto answer = json_of({"--root", root.path(), "fits", "1GiB"});
  EXPECT_EQ(answer["fits"], "after_making_room");
  EXPECT_EQ(answer["bytes"], 1 << 30);
}

}  // namespace
}  // namespace jetmem
