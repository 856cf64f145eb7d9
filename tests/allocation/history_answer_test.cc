// SPDX-License-Identifier: Apache-2.0
// A history answer is written without a tree of its numbers: the small blocks of one would leave
// holes in the daemon's heap.
#include "report/answers/history_answer.h"

#include <gtest/gtest.h>
#include <malloc.h>

namespace jetmem {
namespace {

TEST(HistoryAnswerAllocation, FewSmallBlocksAtOnce) {
  // The heap keeps the size it had at most; large blocks are outside of it.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  MetricPast past;
  for (int i = 0; i < 30; ++i) {
    past.series.emplace_back();
    past.series.back().points.resize(300);
  }
  const std::size_t before = ::mallinfo2().arena;
  const std::string text = metric_past_json({}, past);
  EXPECT_GT(text.size(), 200U << 10);
  EXPECT_LT(::mallinfo2().arena - before, 512U << 10);
}

}  // namespace
}  // namespace jetmem
