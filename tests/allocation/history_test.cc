// SPDX-License-Identifier: Apache-2.0
// A step of the flight recorder allocates nothing while the table's shape stands.
#include <gtest/gtest.h>

#include "history/recorder/recorder.h"
#include "tests/bench/count_malloc.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

constexpr Descriptor kArea{.name = "jetmem_cma_used_bytes", .labels = {"area"}, .max_series = 600};

void put(SampleTable& table, std::size_t section, Nanoseconds at) {
  SampleWriter out(table, section, at);
  for (int i = 0; i < 300; ++i) out.put(kArea, to_seconds(at), i);
}

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
    put(table, section, clock.boot());
    const auto before = allocations_of_this_thread();
    recorder.cycle(table);
    const auto made = allocations_of_this_thread() - before;
    SampleWriter out(table, own, clock.boot());
    recorder.write(out);
    return made;
  };
  unsigned long first = 0;
  for (int i = 0; i < 3; ++i) first += step();
  EXPECT_GT(first, 0U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(step(), 0U) << i;
}

}  // namespace
}  // namespace jetmem
