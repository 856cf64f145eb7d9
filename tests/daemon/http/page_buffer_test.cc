// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/page_buffer.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void publish(PageBuffer& buffer) {
  auto page = std::make_shared<Page>();
  page->cycle = buffer.cycle();
  buffer.publish(std::move(page));
}

bool is_requested(const PageBuffer& buffer) {
  pollfd request{buffer.requests().get(), POLLIN, 0};
  return ::poll(&request, 1, 0) == 1;
}

TEST(PageBuffer, WhoAsksGetsThePageOfTheNewestCycle) {
  PageBuffer buffer;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> filled{0};
  std::thread loop([&] {
    while (!stop) {
      buffer.next_cycle();
      pollfd request{buffer.requests().get(), POLLIN, 0};
      if (::poll(&request, 1, 1) != 1) continue;
      buffer.requests().clear();
      publish(buffer);
      ++filled;
    }
  });
  std::uint64_t last = 0;
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t newest = buffer.cycle();
    const std::uint64_t shown = buffer.current()->cycle;
    if (shown < newest) ++late;
    EXPECT_GE(shown, last);
    last = shown;
  }
  EXPECT_LT(late, 20) << "but for a machine that lets the loop wait";
  std::this_thread::sleep_for(milliseconds(20));
  const std::uint64_t before = filled;
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(filled, before) << "cycles that nobody asked for fill no page";
  stop = true;
  loop.join();
}

TEST(PageBuffer, ALoopThatHangsIsWaitedForOnce) {
  PageBuffer buffer;
  buffer.next_cycle();
  publish(buffer);
  EXPECT_EQ(buffer.current()->cycle, 1U);
  EXPECT_FALSE(is_requested(buffer)) << "it is current";
  buffer.next_cycle();
  const auto expect_wait = [&](bool waits, std::uint64_t shown) {
    const auto begin = steady_clock::now();
    EXPECT_EQ(buffer.current()->cycle, shown);
    EXPECT_EQ(steady_clock::now() - begin >= PageBuffer::kTimeout / 2, waits);
  };
  expect_wait(true, 1);  // then the page that is there
  expect_wait(false, 1);
  EXPECT_TRUE(is_requested(buffer));
  // It answers late.
  publish(buffer);
  EXPECT_EQ(buffer.current()->cycle, 2U);
  // And is asked again from its next cycle on.
  buffer.next_cycle();
  expect_wait(true, 2);
}

}  // namespace
}  // namespace jetmem
