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

class TraceTest : public SourceTest<CmaMapSource> {
 protected:
  TraceTest() { instance(); }
  // A source that has seen nothing yet.
  void instance(const char* pauses = "0\n") {
    fixture.source = CmaMapSource();
    fixture.clear();
    fixture.file(kInstance + "/options/pause-on-trace", pauses);
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
  // What is read of the process of thread 412.
  void process(const char* pid, const std::string& comm, const char* start) {
    fixture.file("/proc/412/status", std::string("Tgid:\t") + pid + "\n");
    fixture.file("/proc/412/comm of process", comm + "\n");
    fixture.file("/proc/412/stat", "412 (" + comm + ") S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " +
                                       std::string(start) + " 0 0 0\n");
    fixture.file(kCmaTicks, "100\n");
  }
  double owned(const std::string& owner) {
    return value("jetmem_cma_owner_bytes{area=\"linux,cma\",owner=\"" + owner + "\"}");
  }
  double of_map(const std::string& name) {
    return value("jetmem_cma_map_" + name + "{area=\"linux,cma\"}");
  }
};

// Since 5.16, at 12 seconds and so many microseconds.
std::string alloc(const std::string& task, int at, const char* pfn, int count = 16, int error = 0) {
  return task + "     [000] .....    12.000" + std::to_string(at) +
         ": cma_alloc_finish: name=linux,cma pfn=" + pfn +
         " page=00000000a5b9e811 count=" + std::to_string(count) +
         " align=4 errorno=" + std::to_string(error) + "\n";
}
const std::string kAlloc = alloc("          camera-412", 100, "0x1000");

TEST_F(TraceTest, FromTextToSamples) {
  area("0 0 0 0\n");
  trace("# tracer: nop\n#\n" + kAlloc +
            "          camera-412     [000] .....    12.000110: <stack trace>\n"
            " => trace_event_raw_event_cma_alloc_finish\n => cma_alloc\n => dma_alloc_attrs\n"
            " => vb2_dc_alloc [videobuf2_dma_contig]\n => vidioc_reqbufs\n",
        2);
  process("400", "camera-app", "900");
  fixture.file("/proc/412/cgroup", "0::/system.slice/camera.service\n");
  EXPECT_EQ(owned("camera-app"), 16 * 4096);
  EXPECT_EQ(of_map("allocations"), 1);
  const CmaMap& map = reading();
  ASSERT_EQ(map.owners.size(), 1U);
  EXPECT_EQ(map.owners[0].pid, 400U);
  EXPECT_EQ(map.owners[0].unit, "camera.service");
  EXPECT_EQ(map.owners[0].function, "vb2_dc_alloc [videobuf2_dma_contig]");
}

TEST_F(TraceTest, WhoHasEnded) {
  trace(kAlloc, 1);
  fixture.error("/proc/412/status", EACCES);
  EXPECT_FALSE(reading().owners[0].has_ended);
  instance();
  trace(kAlloc, 1);
  fixture.error("/proc/412/status", ENOENT);
  EXPECT_TRUE(reading().owners[0].has_ended);
  // A number that another process has by now is not its name.
  instance();
  trace(kAlloc, 1);
  process("412", "late", "90000");
  EXPECT_EQ(owned("camera"), 16 * 4096);
  EXPECT_EQ(reading().owners[0].pid, 0U);
  EXPECT_TRUE(reading().owners[0].has_ended);
}

TEST_F(TraceTest, HostileNamesOfThreads) {
  area();
  trace(alloc(" [000] 1.0: cma_-412", 100, "0x1000") +
            alloc("             a\nb-413", 200, "0x1020") +
            alloc("           <...>-414", 300, "0x1040", 8),
        3);
  const CmaMap& map = reading();
  ASSERT_EQ(map.owners.size(), 3U);
  EXPECT_EQ(map.owners[0].comm, "[000] 1.0: cma_");
  EXPECT_EQ(map.owners[1].comm, "a?b");
  EXPECT_EQ(map.owners[2].comm, "");
  EXPECT_EQ(map.losses, 0U);
  EXPECT_EQ(owned("unknown"), 8 * 4096);
}

TEST_F(TraceTest, FailuresChangeNothing) {
  area();
  trace(std::string(
            "          camera-412     [000] ....    12.000100: cma_alloc: pfn=1000 "
            "page=          (null) count=16 align=4\n"
            "          camera-412     [000] ....    12.000200: cma_alloc: pfn=ffffffffffffffff "
            "page=0000000000000000 count=16 align=4\n") +
            alloc("          camera-412", 300, "0x1000", 16, -16),
        3);
  EXPECT_EQ(reading().areas[0].pieces.size(), 0U);
  EXPECT_EQ(reading().losses, 0U);
}

// A part of it is missing, or is not what it should be: then it says nothing, and why.
TEST_F(TraceTest, WhatIsUnclearIsNotUsed) {
  const auto is_used = [&](const std::string& text, int entries, std::string_view after = {}) {
    instance();
    trace(text, entries);
    if (!after.empty()) {
      fixture.file(std::string(kCmaAfter) + kInstance + "/per_cpu/cpu0/stats", after);
    }
    return fixture.run().has_value();
  };
  EXPECT_TRUE(is_used(kAlloc, 1));
  EXPECT_FALSE(is_used(kAlloc, 2));
  EXPECT_FALSE(is_used("CPU:0 [LOST 3 EVENTS]\n" + kAlloc, 1));
  EXPECT_FALSE(is_used(kAlloc + "garbage\n", 1));
  EXPECT_FALSE(is_used(kAlloc.substr(0, 110), 1));
  EXPECT_FALSE(is_used(kAlloc, 1, stats(0, 2))) << "overwritten while it was read";
  EXPECT_TRUE(is_used(kAlloc, 0, stats(1))) << "it came while it was read";
}

TEST_F(TraceTest, WithoutAnInstance) {
  fixture.clear();
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.error(kInstance + "/trace", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  instance("1\n");  // it pauses
  fixture.file(kInstance + "/trace", "");
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
}

// Without debugfs nobody says where the area lies; with it, what was there before has no owner.
TEST_F(TraceTest, BeforeJetmem) {
  area("65535 0 0 4294967295\n");
  trace("", 0);
  EXPECT_EQ(owned("before jetmem"), 48 * 4096);
  EXPECT_EQ(of_map("unknown_bytes"), 0);
  EXPECT_EQ(of_map("largest_free_run_bytes"), 80 * 4096);
}

}  // namespace
}  // namespace jetmem
