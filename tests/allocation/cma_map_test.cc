// SPDX-License-Identifier: Apache-2.0
// A trace in which nothing came is looked at without an allocation.
#include <gtest/gtest.h>

#include "collectors/cma/source.h"
#include "tests/bench/count_malloc.h"
#include "tests/collectors/cma/cma_kernel.h"

namespace jetmem {
namespace {

TEST(Allocation, NoneForATraceWithoutNews) {
  CmaKernel kernel(CmaFormat::k612, 4, 64);
  kernel.add_area("linux,cma", 4096, 4096);
  const CmaKernel::Thread camera{412, "camera-thread", 1};
  for (unsigned i = 0; i < 20; ++i) {
    kernel.set(0, i * 100, 60, true);
    kernel.trace_alloc(camera, 0, i * 100, 60, "vb2_dc_alloc");
  }
  Snapshot snapshot;
  kernel.render(snapshot, true, true);
  SampleTable table;
  const std::size_t section = table.add_section("cma_map");
  CmaMapSource source;
  Facts facts;
  facts.page_size = 4096;
  Readings readings;
  AbsentValues absent;
  const auto cycle = [&] {
    ASSERT_TRUE(source.parse(snapshot, Nanoseconds(0)));
    absent.reset();
    WriteContext context{facts, readings, absent};
    SampleWriter writer(table, section, Nanoseconds(0));
    source.write(writer, context);
  };
  for (int i = 0; i < 5; ++i) cycle();
  EXPECT_EQ(source.reading().areas[0].taken_pieces, 20U);
  const unsigned long before = allocations_of_this_thread();
  for (int i = 0; i < 5; ++i) cycle();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
}

}  // namespace
}  // namespace jetmem
