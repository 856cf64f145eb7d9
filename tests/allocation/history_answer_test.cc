// SPDX-License-Identifier: Apache-2.0
// A history answer is written without a tree of its numbers: the small blocks of one would leave
// holes in the daemon's heap.
#include "report/answers/history_answer.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <vector>

namespace jetmem {
namespace {

std::size_t heap_size() { return ::mallinfo2().arena; }

TEST(HistoryAnswerAllocation, FewSmallBlocksAtOnce) {
  // The heap keeps the size it had at most; large blocks are outside of it.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // Nothing fits into what other tests freed.
  std::vector<std::unique_ptr<char[]>> held;
  for (const std::size_t size : {4000, 400, 100}) {
    for (const std::size_t start = heap_size(); heap_size() == start;) {
      held.push_back(std::make_unique<char[]>(size));
    }
  }
  MetricPast past;
  for (int i = 0; i < 30; ++i) {
    past.series.emplace_back();
    past.series.back().points.resize(300);
  }
  const std::size_t before = heap_size();
  const std::string text = metric_past_json({}, past);
  EXPECT_GT(text.size(), 150U << 10);
  EXPECT_LT(heap_size(), before + (512U << 10));
}

}  // namespace
}  // namespace jetmem
