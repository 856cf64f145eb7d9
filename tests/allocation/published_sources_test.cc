// SPDX-License-Identifier: Apache-2.0
// Telling the web thread of sources and texts allocates nothing while neither grows.
#include "daemon/http/published_sources.h"

#include <gtest/gtest.h>

#include "collectors/sampler/registry.h"
#include "health/registry.h"
#include "tests/bench/count_malloc.h"

namespace jetmem {
namespace {

TEST(Allocation, NoneToTellOfSourcesAndTexts) {
  auto root = Root::at(std::string(JETMEM_FIXTURES) + "/orin");
  ASSERT_TRUE(root.has_value());
  ManualClock clock;
  clock.advance(std::chrono::hours(1));
  SampleTable table;
  Sampler sampler(*root, clock, table, make_all_sources(), make_derived_metrics(), {});
  SourceStatesBuffer sources;
  ProgramTextsBuffer texts(sampler);
  Snapshot snapshot;
  const auto cycle = [&](int i) {
    // One of them goes and comes again each time, so that all is handed over.
    sampler.set_enabled(0, i % 2 == 0);
    sources.notify(sampler);
    snapshot.clear();
    snapshot.add("/run/tegrastats",
                 i % 2 == 0 ? "RAM 1/2MB a line as it is printed each second\n"
                            : "RAM 2/2MB a line as it is printed each second\n",
                 0);
    texts.notify("tegrastats", &snapshot);
    (void)sources.latest();
    texts.each([](const std::string&, const std::string&) {});
  };
  int i = 0;
  for (; i < 10; ++i) cycle(i);
  sampler.set_enabled(0, true);
  // Not what the sampler does when a source is switched, which is no steady state.
  unsigned long count = 0;
  const std::uint64_t changes = sources.latest().changes;
  for (; i < 20; ++i) {
    sampler.set_enabled(0, i % 2 == 0);
    const unsigned long before = allocations_of_this_thread();
    sources.notify(sampler);
    snapshot.clear();
    snapshot.add("/run/tegrastats", "RAM 1/2MB a line as it is printed each second\n", 0);
    texts.notify("tegrastats", &snapshot);
    count += allocations_of_this_thread() - before;
    (void)sources.latest();
    texts.each([](const std::string&, const std::string&) {});
  }
  EXPECT_GE(sources.latest().changes, changes + 9);
  EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace jetmem
