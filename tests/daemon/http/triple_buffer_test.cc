// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/triple_buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "daemon/http/page_buffer.h"

namespace jetmem {
namespace {

TEST(TripleBuffer, TheNewestPageIsSeenAndOlderOnesAreSkipped) {
  PageBuffer buffer;
  EXPECT_LT(buffer.latest().taken, Nanoseconds(0));
  for (std::uint64_t cycle = 1; cycle <= 3; ++cycle) {
    buffer.back().cycle = cycle;
    buffer.publish();
  }
  EXPECT_EQ(buffer.latest().cycle, 3U);
  EXPECT_EQ(buffer.latest().cycle, 3U);
  buffer.back().cycle = 4;
  buffer.publish();
  EXPECT_EQ(buffer.latest().cycle, 4U);
}

TEST(TripleBuffer, AChangedShapeIsLaidOutOnce) {
  static constexpr Descriptor kOne{.name = "jetmem_one", .help = "One."};
  SampleTable table;
  const std::size_t section = table.add_section("test");
  SampleWriter(table, section, Nanoseconds(0)).put(kOne, 1);
  PageBuffer buffer;
  fill_page(table, Nanoseconds(1), 1, buffer.back());
  buffer.publish();
  const Layout* first = buffer.latest().layout.get();
  for (std::uint64_t cycle = 2; cycle < 8; ++cycle) {
    fill_page(table, Nanoseconds(1), cycle, buffer.back());
    buffer.publish();
    if (cycle % 2 == 0) {
      EXPECT_EQ(buffer.latest().layout.get(), first);
    }
  }
}

// Run under ThreadSanitizer to mean most.
TEST(TripleBuffer, PagesAreNeverTornAndNeverGoBack) {
  constexpr std::uint64_t kCycles = 200'000;
  PageBuffer buffer;
  std::thread producer([&buffer] {
    for (std::uint64_t cycle = 1; cycle <= kCycles; ++cycle) {
      Page& page = buffer.back();
      // The size changes too, as when the table's shape does.
      page.values.assign(8 + cycle % 5, static_cast<double>(cycle));
      page.taken = Nanoseconds(static_cast<std::int64_t>(cycle));
      page.cycle = cycle;
      buffer.publish();
    }
  });
  std::uint64_t last = 0;
  std::uint64_t torn = 0;
  std::uint64_t backward = 0;
  while (last < kCycles) {
    const Page& page = buffer.latest();
    if (page.cycle < last) ++backward;
    last = page.cycle;
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
