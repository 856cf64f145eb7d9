#include "daemon/page_box.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace jetmem {
namespace {

TEST(PageBox, TheNewestPageIsSeenAndOlderOnesAreSkipped) {
  PageBox box;
  EXPECT_LT(box.latest().taken, Nanoseconds(0));
  for (std::uint64_t round = 1; round <= 3; ++round) {
    box.back().round = round;
    box.publish();
  }
  EXPECT_EQ(box.latest().round, 3U);
  EXPECT_EQ(box.latest().round, 3U);
  box.back().round = 4;
  box.publish();
  EXPECT_EQ(box.latest().round, 4U);
}

TEST(PageBox, AChangedShapeIsLaidOutOnce) {
  static constexpr Descriptor kOne{.name = "jetmem_one", .help = "One."};
  SampleTable table;
  const std::size_t section = table.add_section("test");
  SampleWriter(table, section, Nanoseconds(0)).put(kOne, 1);
  PageBox box;
  fill_page(table, Nanoseconds(1), 1, box.back());
  box.publish();
  const Layout* first = box.latest().layout.get();
  for (std::uint64_t round = 2; round < 8; ++round) {
    fill_page(table, Nanoseconds(1), round, box.back());
    box.publish();
    if (round % 2 == 0) {
      EXPECT_EQ(box.latest().layout.get(), first);
    }
  }
}

// Run under ThreadSanitizer to mean most.
TEST(PageBox, PagesAreNeverTornAndNeverGoBack) {
  constexpr std::uint64_t kRounds = 200'000;
  PageBox box;
  std::thread producer([&box] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      Page& page = box.back();
      // The size changes too, as when the table's shape does.
      page.values.assign(8 + round % 5, static_cast<double>(round));
      page.taken = Nanoseconds(static_cast<std::int64_t>(round));
      page.round = round;
      box.publish();
    }
  });
  std::uint64_t last = 0;
  std::uint64_t torn = 0;
  std::uint64_t backward = 0;
  while (last < kRounds) {
    const Page& page = box.latest();
    if (page.round < last) ++backward;
    last = page.round;
    if (last == 0) continue;
    if (page.values.size() != 8 + last % 5) ++torn;
    for (const double value : page.values) {
      if (value != static_cast<double>(last)) ++torn;
    }
    if (page.taken.count() != static_cast<std::int64_t>(last)) ++torn;
  }
  producer.join();
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(backward, 0U);
}

}  // namespace
}  // namespace jetmem
