// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/waiting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace jetmem {
namespace {

using std::chrono::seconds;

constexpr Descriptor kArea{.name = "jetmem_cma_used_bytes", .labels = {"area"}, .max_series = 2000};
constexpr Descriptor kOther{.name = "jetmem_not_kept", .labels = {"n"}, .max_series = 64};

struct WaitingTest : testing::Test {
  void put(int from, int to, double value) {
    SampleWriter out(table, section, at);
    for (int i = 0; i < 3; ++i) out.put(kOther, 1, i);
    for (int i = from; i < to; ++i) out.put(kArea, value + i, i);
  }
  std::size_t step(int from, int to, double value) {
    at += seconds(10);
    put(from, to, value);
    return waiting.take(table, at);
  }
  static const WaitingBlock::Column* column(const Waiting::Block& block, int area) {
    const std::string key = "jetmem_cma_used_bytes{area=\"" + std::to_string(area) + "\"}";
    for (std::size_t i = 0; i < block->series(); ++i) {
      if (block->column(i).key == key) return &block->column(i);
    }
    return nullptr;
  }

  Waiting waiting{Selection(), 0};
  SampleTable table;
  std::size_t section = table.add_section("test");
  Nanoseconds at{0};
};

TEST_F(WaitingTest, KeepsWhatIsSelectedStepByStep) {
  step(0, 3, 100);
  step(0, 3, 200);
  ASSERT_EQ(waiting.series(), 3U);
  const auto blocks = waiting.snapshot();
  ASSERT_EQ(blocks.size(), 1U);
  ASSERT_EQ(blocks[0]->steps(), 2U);
  EXPECT_EQ(blocks[0]->at(1), seconds(20));
  EXPECT_EQ(column(blocks[0], 2)->values[0], 102);
  EXPECT_EQ(column(blocks[0], 2)->values[1], 202);
}

TEST_F(WaitingTest, WhatComesAndGoesHasNoValueMeanwhile) {
  step(0, 2, 100);
  step(1, 4, 200);
  step(0, 4, 300);
  const auto block = waiting.snapshot()[0];
  EXPECT_EQ(block->series(), 4U);
  EXPECT_EQ(column(block, 0)->values[0], 100);
  EXPECT_TRUE(std::isnan(column(block, 0)->values[1]));
  EXPECT_EQ(column(block, 0)->values[2], 300);
  EXPECT_TRUE(std::isnan(column(block, 3)->values[0]));
  EXPECT_EQ(column(block, 3)->values[1], 203);
}

TEST_F(WaitingTest, ABlockIsFreedOnceItIsWritten) {
  step(0, 4, 100);
  waiting.seal();
  Waiting::Block written = waiting.oldest_sealed();
  ASSERT_TRUE(written);
  const std::weak_ptr<const WaitingBlock> memory = written;
  waiting.release_steps(written, true);
  written.reset();
  EXPECT_TRUE(memory.expired());
  step(2, 3, 500);
  const auto blocks = waiting.snapshot();
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0]->series(), 1U);
  EXPECT_EQ(column(blocks[0], 2)->values[0], 502);
  EXPECT_TRUE(std::isnan(column(blocks[0], 2)->values[1]));
}

TEST_F(WaitingTest, WhatSomebodyLooksAtStays) {
  step(0, 1, 100);
  const auto checked = waiting.snapshot();
  waiting.seal();
  waiting.release_steps(waiting.oldest_sealed(), true);
  step(0, 1, 200);
  waiting.seal();
  step(0, 1, 300);
  EXPECT_EQ(checked[0]->steps(), 1U);
  EXPECT_EQ(column(checked[0], 0)->values[0], 100);
}

TEST_F(WaitingTest, TheOldestGoesWhenMemoryIsFull) {
  std::size_t lost = 0;
  const auto most = Waiting::kMaxSteps;
  for (std::size_t i = 0; i < most; ++i) lost += step(0, 1, 1);
  EXPECT_EQ(lost, 0U);
  EXPECT_EQ(waiting.steps(), most);
  lost += step(0, 1, 1);
  EXPECT_EQ(lost, WaitingBlock::kMaxSteps);
  EXPECT_EQ(waiting.steps(), most - WaitingBlock::kMaxSteps + 1);
  EXPECT_EQ(waiting.snapshot().front()->at(0), seconds(10) * (WaitingBlock::kMaxSteps + 1));
}

TEST_F(WaitingTest, WhatTheWriterHoldsIsNotTheOneThatGoes) {
  for (std::size_t i = 0; i <= WaitingBlock::kMaxSteps; ++i) step(0, 1, 1);
  const Waiting::Block held = waiting.oldest_sealed();
  std::size_t lost = 0;
  for (std::size_t i = 0; i < WaitingBlock::kMaxSteps * 2; ++i) lost += step(0, 1, 1);
  EXPECT_EQ(lost, WaitingBlock::kMaxSteps);
  EXPECT_EQ(waiting.snapshot().front().get(), held.get());
}

TEST_F(WaitingTest, SeriesBeyondTheBoundAreCounted) {
  step(0, 600, 0);
  EXPECT_EQ(waiting.series(), WaitingBlock::kMaxSeries);
  EXPECT_EQ(waiting.without_room(), 88U);
}

TEST_F(WaitingTest, SeriesThatAreGoneMakeRoomInTheEnd) {
  step(0, 500, 0);
  for (int i = 0; i < 40; ++i) step(500, 600, 0);
  EXPECT_EQ(waiting.without_room(), 0U);
  EXPECT_EQ(waiting.series(), 100U);
  EXPECT_TRUE(waiting.has_sealed());
}

// Under the thread sanitizer, too.
TEST_F(WaitingTest, OthersLookWhileStepsAreTaken) {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> snapshots{0};
  std::thread reader([&] {
    while (!done.load()) {
      for (const Waiting::Block& block : waiting.snapshot()) {
        const std::size_t steps = block->steps();
        const std::size_t series = block->series();
        for (std::size_t i = 0; i < series; ++i) {
          for (std::size_t s = 0; s < steps; ++s) {
            const double value = block->column(i).values[s];
            if (!std::isnan(value) && value != to_seconds(block->at(s))) ++wrong;
          }
        }
      }
      ++snapshots;
    }
  });
  for (int i = 0; i < 3000 || snapshots.load() < 20; ++i) {
    at += seconds(10);
    {
      SampleWriter out(table, section, at);
      for (int n = i % 7; n < 20; ++n) out.put(kArea, to_seconds(at), n);
    }
    waiting.take(table, at);
    if (i % 50 == 0) {
      waiting.seal();
      waiting.release_steps(waiting.oldest_sealed(), true);
    }
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace jetmem
