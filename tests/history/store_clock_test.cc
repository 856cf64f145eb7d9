// SPDX-License-Identifier: Apache-2.0
#include "history/store/boot_times.h"
#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kUnset1970 = seconds(3);

struct StoreClockTest : StoreTest {
  void SetUp() override { open(); }
  // With this clock 5 s after its start, and so many steps of "x".
  std::int64_t boot_with(std::string_view id, Nanoseconds offset, WallTrust trust,
                         Nanoseconds first, std::size_t steps, double value = 0) {
    const auto boot = begin(id, checked(seconds(5), offset, trust));
    EXPECT_TRUE(write_x(*store_, boot, first, steps, value));
    return boot;
  }
};

TEST_F(StoreClockTest, ClockThatLeapsCorrectsTheWholeBoot) {
  const auto boot = boot_with("a", kUnset1970, WallTrust::kUnset, seconds(10), 10);
  EXPECT_FALSE(points(all_of("x"))[0].wall_trusted);
  ASSERT_TRUE(store_->record_wall_clock(boot, checked(seconds(200), kEpoch2026)));
  ASSERT_TRUE(write_x(*store_, boot, seconds(200), 10));
  // Set wrong by hand, hours off either way: less trusted than what was known.
  ASSERT_TRUE(store_->record_wall_clock(
      boot, checked(seconds(400), kEpoch2026 - hours(5), WallTrust::kPlausible)));
  ASSERT_TRUE(write_x(*store_, boot, seconds(400), 10));
  ASSERT_TRUE(store_->record_wall_clock(
      boot, checked(seconds(600), kEpoch2026 + hours(9), WallTrust::kPlausible)));
  ASSERT_TRUE(write_x(*store_, boot, seconds(600), 10));
  const auto all = points(all_of("x"));
  ASSERT_EQ(all.size(), 40U);
  for (const HistoryPoint& point : all) {
    EXPECT_EQ(point.wall, kEpoch2026 + point.boot_time);
    EXPECT_TRUE(point.wall_trusted);
  }
  // Synchronised anew: the later look is the better one.
  ASSERT_TRUE(store_->record_wall_clock(boot, checked(seconds(700), kEpoch2026 + seconds(2))));
  EXPECT_EQ(points(all_of("x"))[0].wall, kEpoch2026 + seconds(12));
}

TEST_F(StoreClockTest, BootsWithoutAClockLieBehindTheOneBefore) {
  boot_with("a", kEpoch2026, WallTrust::kSynced, seconds(10), 10);
  boot_with("b", kUnset1970, WallTrust::kUnset, seconds(20), 10, 100);
  // Its clock was set, but to before the boot that came before.
  boot_with("c", kEpoch2026 - hours(50), WallTrust::kPlausible, seconds(30), 10, 200);
  boot_with("d", kEpoch2026 + hours(2), WallTrust::kSynced, seconds(40), 10, 300);
  const auto all = points(all_of("x"));
  ASSERT_EQ(all.size(), 40U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].wall, all[i].wall) << i;
  EXPECT_FALSE(all[10].wall_trusted);
  EXPECT_FALSE(all[20].wall_trusted);
  EXPECT_TRUE(all[30].wall_trusted);
  EXPECT_EQ(all[10].min, 100);
  EXPECT_LT(all[29].wall, kEpoch2026 + hours(1));
  // Ranges go by the corrected time.
  SeriesQuery requested = all_of("x");
  requested.from = kEpoch2026 + seconds(101);
  requested.to = kEpoch2026 + hours(1);
  EXPECT_EQ(points(requested).size(), 20U);
  const auto facts = store_->facts();
  ASSERT_EQ(facts->boots.size(), 4U);
  EXPECT_EQ(facts->boots[1].boot_id, "b");
  EXPECT_FALSE(facts->boots[1].wall_trusted);
}

TEST_F(StoreClockTest, FirstBootWithoutAClockEndsBeforeTheNext) {
  boot_with("a", kUnset1970, WallTrust::kUnset, seconds(10), 10);
  boot_with("b", kEpoch2026, WallTrust::kSynced, seconds(10), 10);
  const auto all = points(all_of("x"));
  ASSERT_EQ(all.size(), 20U);
  EXPECT_LT(all[9].wall, all[10].wall);
  EXPECT_GT(all[0].wall, kEpoch2026 - hours(1));
}

TEST_F(StoreClockTest, LeapIntoTheFutureThrowsNothingAway) {
  const auto first = begin("a", checked(seconds(5), kEpoch2026));
  for (int half = 0; half < 8; ++half)
    ASSERT_TRUE(write_x(*store_, first, minutes(30 * half), 180));
  const auto second =
      boot_with("b", kEpoch2026 + hours(24 * 400), WallTrust::kPlausible, seconds(10), 10);
  tidy_all(second, seconds(300));
  EXPECT_EQ(points(all_of("x", Resolution::kRaw)).size(), 8U * 180 + 10);
  // The boot that is over was rolled up to its end.
  EXPECT_EQ(points(all_of("x", Resolution::kQuarter)).size(), 16U + 1);
}

// A boot that was never synchronised has an age of running only: its raw values outlived those of a
// later one, and hid that one's minutes.
TEST_F(StoreClockTest, NoRawValuesBeforeAHole) {
  boot_with("a", kUnset1970, WallTrust::kUnset, seconds(10), 120);
  boot_with("b", kEpoch2026, WallTrust::kSynced, seconds(10), 180);
  const auto present = boot_with("c", kEpoch2026 + hours(24), WallTrust::kSynced, seconds(10), 60);
  tidy_all(present, minutes(10));
  SeriesQuery requested = all_of("x");
  requested.from = kEpoch2026 - hours(1);
  requested.to = kEpoch2026 + hours(2);
  EXPECT_GE(points(requested).size(), 30U) << "the minutes of b";
  for (const HistoryPoint& point : points(all_of("x", Resolution::kRaw))) {
    EXPECT_EQ(point.boot, present);
  }
  EXPECT_EQ(points(all_of("x", Resolution::kMinute)).size(), 21U + 31 + 11);
}

TEST(BootTimes, NumbersFromADamagedFileDoNotOverflow) {
  BootTime wild;
  wild.number = 1;
  wild.first = Nanoseconds::min();
  wild.last = Nanoseconds::max();
  wild.trust = 2;
  wild.offset = Nanoseconds::max();
  BootTime next = wild;
  next.number = 2;
  next.trust = 0;
  const BootTimes times({wild, next});
  EXPECT_EQ(times.find(1)->wall(Nanoseconds::max()), Nanoseconds::max());
  EXPECT_EQ(times.find(3), nullptr);
  EXPECT_EQ(times.age(1, Nanoseconds::min(), 2, Nanoseconds::max()), Nanoseconds::max());
}

}  // namespace
}  // namespace jetmem
