// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <memory>
#include <vector>

#include "history/recorder/recorder.h"
#include "report/answers/history_answer.h"
#include "tests/allocation/allocations.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

constexpr Descriptor kArea{.name = "jetmem_cma_used_bytes", .labels = {"area"}, .max_series = 600};

// A step of the flight recorder, while the table's shape stands.
TEST(HistoryAllocation, NoneForASteadyStep) {
  ManualClock clock;
  RecordedLog log;
  RecorderOptions options;
  options.no_directory = "a test";
  Recorder recorder(options, clock, log);
  recorder.start();
  SampleTable table;
  const std::size_t section = table.add_section("test");
  const std::size_t own = table.add_section("history");
  const auto step = [&] {
    clock.advance(seconds(10));
    {
      SampleWriter out(table, section, clock.boot());
      for (int i = 0; i < 300; ++i) out.put(kArea, to_seconds(clock.boot()), i);
    }
    const auto made = allocations_in([&] { recorder.cycle(table); });
    SampleWriter out(table, own, clock.boot());
    recorder.write(out);
    return made;
  };
  unsigned long first = 0;
  for (int i = 0; i < 3; ++i) first += step();
  EXPECT_GT(first, 0U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(step(), 0U) << i;
}

std::size_t heap_size() { return ::mallinfo2().arena; }

// An answer is written without a tree of its numbers: the small blocks of one would leave holes in
// the daemon's heap.
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
