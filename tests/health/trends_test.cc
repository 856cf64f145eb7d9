// SPDX-License-Identifier: Apache-2.0
#include "health/trends.h"

#include <gtest/gtest.h>

#include "collectors/jetson/nvmap/source.h"
#include "collectors/proc/meminfo.h"
#include "collectors/processes/group/shown_groups.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::string_view kAvailable = "jetmem_trend_bytes_per_second{of=\"MemAvailable\"}";
constexpr std::string_view kAvailableFit = "jetmem_trend_r_squared{of=\"MemAvailable\"}";
constexpr std::string_view kExhaustion = "jetmem_trend_exhaustion_seconds{of=\"MemAvailable\"}";
constexpr std::string_view kOrphans = "jetmem_trend_bytes_per_second{of=\"nvmap_orphans\"}";

std::string group_key(std::string_view command) {
  return "jetmem_process_group_trend_bytes_per_second{command=\"" + std::string(command) +
         "\",container=\"\",unit=\"a.service\"}";
}

class TrendsTest : public testing::Test {
 protected:
  TrendsTest() {
    meminfo.fields = {{"MemAvailable", 4096 * kMiB, true, nullptr, {}},
                      {"NvMapMemUsed", 512 * kMiB, true, nullptr, {}}};
    nvmap.heaps.resize(2);
    nvmap.heaps[0].orphan_bytes = 0;
    nvmap.heaps[1].orphan_bytes = kMiB;
    processes.shown = &shown;
    fixture.set(&meminfo);
    fixture.set(&nvmap);
    fixture.set(&processes);
  }

  void set_groups(const std::vector<std::pair<std::string, std::int64_t>>& groups) {
    processes.groups.clear();
    bytes.clear();
    for (const auto& [name, size] : groups) {
      processes.groups.push_back({{name, "a.service", ""}, 1, 0, 0});
      bytes.push_back(static_cast<std::uint64_t>(size));
    }
  }
  // So many minutes in each of which this much more is available and orphaned.
  void minutes_of(int count, std::int64_t available, std::int64_t orphaned) {
    for (int i = 0; i < count; ++i) {
      *meminfo.fields[0].value += static_cast<std::uint64_t>(available);
      *nvmap.heaps[1].orphan_bytes += static_cast<std::uint64_t>(orphaned);
      minute();
    }
  }
  // As the source does after each of its readings.
  void read_processes() { shown.update(processes.groups, bytes, fixture.now, fixture.now); }
  void minute() {
    for (int second = 0; second < 60; second += 5) {
      fixture.now += seconds(5);
      fixture.write();
    }
  }

  Meminfo meminfo;
  Nvmap nvmap;
  Processes processes;
  ShownGroups shown;
  std::vector<std::uint64_t> bytes;
  DerivedCycle<Trends> fixture;
};

TEST_F(TrendsTest, ALeakHasSlopeFitAndEnd) {
  minutes_of(29, -6 * kMiB, 2 * kMiB);
  EXPECT_FALSE(fixture.has(kAvailableFit));
  EXPECT_EQ(fixture.left_out("too_few_values"), 3U);
  minutes_of(10, -6 * kMiB, 2 * kMiB);
  EXPECT_NEAR(fixture.sample(kAvailable), -0.1 * kMiB, 1);
  EXPECT_GT(fixture.sample(kAvailableFit), 0.95);
  const double left = static_cast<double>(*meminfo.fields[0].value) / (0.1 * kMiB);
  EXPECT_NEAR(fixture.sample(kExhaustion), left, 70);
  EXPECT_NEAR(fixture.sample(kOrphans), 2.0 * kMiB / 60, 1);
  // NvMapMemUsed does not move.
  EXPECT_EQ(fixture.sample("jetmem_trend_r_squared{of=\"NvMapMemUsed\"}"), 0);
  EXPECT_FALSE(fixture.has("jetmem_trend_bytes_per_second{of=\"NvMapMemUsed\"}"));
  EXPECT_EQ(fixture.left_out("no_steady_trend"), 1U);
}

TEST_F(TrendsTest, NoEndThatIsFarOffOrNeverComes) {
  minutes_of(60, -64 * 1024, 0);  // 4 GiB last 45 days
  EXPECT_TRUE(fixture.has(kAvailable));
  EXPECT_FALSE(fixture.has(kExhaustion));
  EXPECT_EQ(fixture.left_out("no_exhaustion_within_30_days"), 1U);
  minutes_of(125, kMiB, 0);
  EXPECT_GT(fixture.sample(kAvailable), 0);
  EXPECT_FALSE(fixture.has(kExhaustion));
}

TEST_F(TrendsTest, NothingOfASourceThatIsBlind) {
  minutes_of(40, -kMiB, kMiB);
  ASSERT_TRUE(fixture.has(kAvailable));
  ASSERT_TRUE(fixture.has(kOrphans));
  fixture.lose(0);
  nvmap.heaps[0].orphan_bytes.reset();
  minute();
  EXPECT_FALSE(fixture.has(kAvailable)) << "what was is not what is";
  EXPECT_FALSE(fixture.has(kAvailableFit));
  EXPECT_FALSE(fixture.has(kExhaustion));
  EXPECT_FALSE(fixture.has(kOrphans)) << "a part is not the sum";
  EXPECT_EQ(fixture.left_out("orphans_not_known"), 1U);
}

TEST_F(TrendsTest, GroupsHaveTheirOwn) {
  for (int i = 0; i < 40; ++i) {
    set_groups({{"camera", 100 * kMiB + i * 3 * kMiB}, {"model", 900 * kMiB}});
    read_processes();
    minute();
  }
  EXPECT_NEAR(fixture.sample(group_key("camera")), 3.0 * kMiB / 60, 1);
  EXPECT_FALSE(fixture.has(group_key("model")));
  // One that is gone has none.
  set_groups({{"model", 900 * kMiB}});
  read_processes();
  minute();
  EXPECT_FALSE(fixture.has(group_key("camera")));
  EXPECT_GT(fixture.series(), 0U);
}

TEST_F(TrendsTest, AReadingIsTakenOnce) {
  // Read each ten minutes: the values between are not seen again and again.
  for (int i = 0; i < 12; ++i) {
    set_groups({{"camera", 100 * kMiB + i * kMiB}});
    read_processes();
    for (int n = 0; n < 10; ++n) minute();
  }
  EXPECT_FALSE(fixture.has(group_key("camera"))) << "12 values, not 120";
  EXPECT_GE(fixture.left_out("too_few_values"), 1U);
}

TEST_F(TrendsTest, WhatBytesAreMadeOfChanges) {
  std::int64_t size = 100 * kMiB;
  const auto grow = [&](int count) {
    for (int i = 0; i < count; ++i) {
      set_groups({{"camera", size += kMiB}});
      read_processes();
      minute();
    }
  };
  grow(40);
  ASSERT_TRUE(fixture.has(group_key("camera")));
  shown.forget_growth();  // GPU memory can be read from now on
  size += 1000 * kMiB;
  grow(20);
  EXPECT_FALSE(fixture.has(group_key("camera")));
  grow(20);
  EXPECT_NEAR(fixture.sample(group_key("camera")), 1.0 * kMiB / 60, 1);
  // A walk that was cut saw only some of them.
  processes.left_out = 1;
  minute();
  EXPECT_FALSE(fixture.has(group_key("camera")));
  EXPECT_EQ(fixture.left_out("walk_cut"), 1U);
}

TEST_F(TrendsTest, GroupsComeAndGoWithoutEnd) {
  for (int i = 0; i < 300; ++i) {
    std::vector<std::pair<std::string, std::int64_t>> groups;
    for (int n = 0; n < 25; ++n) {
      groups.emplace_back("job" + std::to_string(n < 5 ? n : i / 7 * 100 + n),
                          (100 + n + i) * kMiB);
    }
    set_groups(groups);
    read_processes();
    minute();
  }
  std::size_t shown_now = 0;
  for (const ShownGroups::Shown& one : shown.all()) shown_now += one.used && one.shown ? 1 : 0;
  EXPECT_LE(shown_now, ShownGroups::kMost);
  EXPECT_LE(fixture.series(), ShownGroups::kMost + 7);
}

TEST_F(TrendsTest, TheShapeStays) {
  std::uint64_t changes = 0;
  for (int i = 0; i < 80; ++i) {
    if (i == 40) changes = fixture.shape_changes();
    set_groups({{"camera", (100 + i) * kMiB}, {"model", (900 + i) * kMiB}});
    read_processes();
    minutes_of(1, -6 * kMiB, 0);
  }
  EXPECT_EQ(fixture.shape_changes(), changes);
}

}  // namespace
}  // namespace jetmem
