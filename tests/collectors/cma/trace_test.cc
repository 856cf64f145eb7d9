// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/trace.h"

#include <gtest/gtest.h>

#include "collectors/cma/source.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

const std::string kInstance(kCmaTraceInstance);

std::string stats(int entries, int overrun = 0, int read = 0) {
  return "entries: " + std::to_string(entries) + "\noverrun: " + std::to_string(overrun) +
         "\ncommit overrun: 0\nbytes: 3\ndropped events: 0\nread events: " + std::to_string(read) +
         "\n";
}

struct TraceTest : testing::Test {
  TraceTest() {
    fixture.file(kInstance + "/options/pause-on-trace", "0\n");
    fixture.file(kInstance + "/trace_clock", "local global [boot]\n");
  }
  void trace(std::string_view text, int entries) {
    fixture.file(kInstance + "/per_cpu/cpu0/stats", stats(entries));
    fixture.file(kInstance + "/trace", text);
  }
  void area(std::string_view bitmap = {}) {
    const std::string folder = "/sys/kernel/debug/cma/cma-linux,cma/";
    fixture.file(folder + "count", "128\n");
    fixture.file(folder + "order_per_bit", "0\n");
    fixture.file(folder + "base_pfn", "4096\n");
    if (!bitmap.empty()) fixture.file(folder + "bitmap", bitmap);
  }
  SourceFixture<CmaMapSource> fixture;
};

constexpr std::string_view kAlloc =
    "          camera-412     [000] .....    12.000100: cma_alloc_finish: name=linux,cma "
    "pfn=0x1000 "
    "page=00000000a5b9e811 count=16 align=4 errorno=0\n";

TEST_F(TraceTest, FromTextToSamples) {
  area("0 0 0 0\n");
  trace(std::string("# tracer: nop\n#\n") + std::string(kAlloc) +
            "          camera-412     [000] .....    12.000110: <stack trace>\n"
            " => trace_event_raw_event_cma_alloc_finish\n => cma_alloc\n => dma_alloc_attrs\n"
            " => vb2_dc_alloc [videobuf2_dma_contig]\n => vidioc_reqbufs\n",
        2);
  fixture.file("/proc/412/status", "Tgid:\t400\n");
  fixture.file("/proc/412/comm of process", "camera-app\n");
  fixture.file("/proc/412/stat", "412 (camera) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 900 0 0 0\n");
  fixture.file("/proc/412/cgroup", "0::/system.slice/camera.service\n");
  fixture.file(kCmaTicks, "100\n");
  EXPECT_EQ(fixture.value(R"(jetmem_cma_owner_bytes{area="linux,cma",owner="camera-app"})"),
            16 * 4096);
  EXPECT_EQ(fixture.value(R"(jetmem_cma_map_allocations{area="linux,cma"})"), 1);
  const CmaMap& map = fixture.reading();
  ASSERT_EQ(map.owners.size(), 1U);
  EXPECT_EQ(map.owners[0].pid, 400U);
  EXPECT_EQ(map.owners[0].unit, "camera.service");
  EXPECT_EQ(map.owners[0].function, "vb2_dc_alloc [videobuf2_dma_contig]");
}

// A number that another process has by now is not its name.
TEST_F(TraceTest, AReusedNumberIsNobody) {
  trace(kAlloc, 1);
  fixture.file("/proc/412/status", "Tgid:\t412\n");
  fixture.file("/proc/412/comm of process", "late\n");
  fixture.file("/proc/412/stat", "412 (late) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 90000 0 0 0\n");
  fixture.file(kCmaTicks, "100\n");
  EXPECT_EQ(fixture.value(R"(jetmem_cma_owner_bytes{area="linux,cma",owner="camera"})"), 16 * 4096);
  EXPECT_EQ(fixture.reading().owners[0].pid, 0U);
  EXPECT_TRUE(fixture.reading().owners[0].has_ended);
}

TEST_F(TraceTest, WhoHasEnded) {
  trace(kAlloc, 1);
  fixture.error("/proc/412/status", ENOENT);
  EXPECT_TRUE(fixture.reading().owners[0].has_ended);
  SourceFixture<CmaMapSource> denied;
  denied.file(kInstance + "/options/pause-on-trace", "0\n");
  denied.file(kInstance + "/per_cpu/cpu0/stats", stats(1));
  denied.file(kInstance + "/trace", kAlloc);
  denied.error("/proc/412/status", EACCES);
  EXPECT_FALSE(denied.reading().owners[0].has_ended);
}

TEST_F(TraceTest, HostileNamesOfThreads) {
  area();
  trace(
      " [000] 1.0: cma_-412     [000] .....    12.000100: cma_alloc_finish: name=linux,cma "
      "pfn=0x1000 "
      "page=00000000a5b9e811 count=16 align=4 errorno=0\n"
      "             a\nb-413     [000] .....    12.000200: cma_alloc_finish: name=linux,cma "
      "pfn=0x1020 "
      "page=00000000a5b9e811 count=16 align=4 errorno=0\n"
      "           <...>-414     [000] .....    12.000300: cma_alloc_finish: name=linux,cma "
      "pfn=0x1040 "
      "page=00000000a5b9e811 count=8 align=4 errorno=0\n",
      3);
  const CmaMap& map = fixture.reading();
  ASSERT_EQ(map.owners.size(), 3U);
  EXPECT_EQ(map.owners[0].comm, "[000] 1.0: cma_");
  EXPECT_EQ(map.owners[1].comm, "a?b");
  EXPECT_EQ(map.owners[2].comm, "");
  EXPECT_EQ(map.losses, 0U);
  EXPECT_EQ(fixture.value(R"(jetmem_cma_owner_bytes{area="linux,cma",owner="unknown"})"), 8 * 4096);
}

TEST_F(TraceTest, FailuresChangeNothing) {
  area();
  trace(
      "          camera-412     [000] ....    12.000100: cma_alloc: pfn=1000 page=          (null) "
      "count=16 align=4\n"
      "          camera-412     [000] ....    12.000200: cma_alloc: pfn=ffffffffffffffff "
      "page=0000000000000000 count=16 align=4\n"
      "          camera-412     [000] ....    12.000300: cma_alloc_finish: name=linux,cma "
      "pfn=0x1000 "
      "page=00000000a5b9e811 count=16 align=4 errorno=-16\n",
      3);
  EXPECT_EQ(fixture.reading().areas[0].pieces.size(), 0U);
  EXPECT_EQ(fixture.reading().losses, 0U);
}

// A part of it is missing, or is not what it should be: then it says nothing, and why.
TEST_F(TraceTest, WhatIsUnclearIsNotUsed) {
  const auto is_used = [](std::string_view text, int entries, std::string_view after = {}) {
    SourceFixture<CmaMapSource> each;
    each.file(kInstance + "/options/pause-on-trace", "0\n");
    each.file(kInstance + "/trace_clock", "[boot]\n");
    each.file(kInstance + "/per_cpu/cpu0/stats", stats(entries));
    each.file(kInstance + "/trace", text);
    if (!after.empty()) {
      each.file(std::string(kCmaAfter) + kInstance + "/per_cpu/cpu0/stats", after);
    }
    return each.run().has_value();
  };
  EXPECT_TRUE(is_used(kAlloc, 1));
  EXPECT_FALSE(is_used(kAlloc, 2));
  EXPECT_FALSE(is_used("CPU:0 [LOST 3 EVENTS]\n" + std::string(kAlloc), 1));
  EXPECT_FALSE(is_used(std::string(kAlloc) + "garbage\n", 1));
  EXPECT_FALSE(is_used(kAlloc.substr(0, 110), 1));
  EXPECT_FALSE(is_used(kAlloc, 1, stats(0, 2))) << "overwritten while it was read";
  EXPECT_TRUE(is_used(kAlloc, 0, stats(1))) << "it came while it was read";
}

TEST_F(TraceTest, WithoutAnInstance) {
  SourceFixture<CmaMapSource> none;
  EXPECT_EQ(none.run().error().code, Errc::kAbsent);
  SourceFixture<CmaMapSource> denied;
  denied.error(kInstance + "/trace", EACCES);
  EXPECT_EQ(denied.run().error().code, Errc::kDenied);
  SourceFixture<CmaMapSource> pauses;
  pauses.file(kInstance + "/options/pause-on-trace", "1\n");
  pauses.file(kInstance + "/trace", "");
  EXPECT_EQ(pauses.run().error().code, Errc::kAbsent);
}

// Without debugfs nobody says where the area lies; with it, what was there before has no owner.
TEST_F(TraceTest, BeforeJetmem) {
  area("65535 0 0 4294967295\n");
  trace("", 0);
  EXPECT_EQ(fixture.value(R"(jetmem_cma_owner_bytes{area="linux,cma",owner="before jetmem"})"),
            48 * 4096);
  EXPECT_EQ(fixture.value(R"(jetmem_cma_map_unknown_bytes{area="linux,cma"})"), 0);
  EXPECT_EQ(fixture.value(R"(jetmem_cma_map_largest_free_run_bytes{area="linux,cma"})"), 80 * 4096);
}

}  // namespace
}  // namespace jetmem
