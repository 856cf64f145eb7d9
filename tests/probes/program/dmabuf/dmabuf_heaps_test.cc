// SPDX-License-Identifier: Apache-2.0
#include "probes/program/dmabuf/dmabuf_heaps.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "tests/temp_dir.h"

namespace jetmem::probe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(ProbeHeaps, WhatIsInTheFolderAndNoHeapIsSaid) {
  const TempDir directory;
  directory.write("file", "x");
  ASSERT_EQ(::mkfifo(directory.file("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/null", directory.file("out").c_str()), 0);
  ASSERT_EQ(::symlink("../up", directory.file("up").c_str()), 0);
  ASSERT_EQ(::symlink("linux,cma", directory.file("alias").c_str()), 0);
  const HeapList list = list_heaps(directory.path());
  EXPECT_EQ(list.error, 0);
  EXPECT_THAT(list.heaps, IsEmpty());
  EXPECT_EQ(list.untried,
            "fifo (no character device), file (no character device), out (a link), up (a link)");
}

TEST(ProbeHeaps, ManyEntriesAreCounted) {
  const TempDir directory;
  for (int i = 0; i < 30; ++i) directory.write("file" + std::to_string(i), "");
  EXPECT_THAT(list_heaps(directory.path()).untried, HasSubstr("30 entries, such as "));
  for (int i = 30; i < 2100; ++i) directory.write("file" + std::to_string(i), "");
  EXPECT_THAT(list_heaps(directory.path()).untried, HasSubstr("at least 2048 entries, such as "));
  // A folder that is not there.
  EXPECT_EQ(list_heaps("/nowhere/at/all").error, ENOENT);
  EXPECT_EQ(list_heaps("/dev/null").error, ENOTDIR);
}

TEST(ProbeHeaps, DevicesAreSortedAndBounded) {
  const TempDir directory;
  const auto make = [&](const std::string& name) {
    return ::mknod(directory.file(name).c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0;
  };
  if (!make("b")) GTEST_SKIP() << "may not make device nodes here";
  ASSERT_TRUE(make("a") && make("with space") && make("new\nline") && make("caf\xc3\xa9") &&
              make("quote\"'\\") && make("udmabuf") && make(std::string(65, 'x')));
  HeapList list = list_heaps(directory.path());
  ASSERT_EQ(list.heaps.size(), 3U);
  EXPECT_EQ(list.heaps[0].name, "a");
  EXPECT_EQ(list.heaps[1].path, directory.file("b"));
  EXPECT_EQ(list.heaps[2].name, "quote\"'\\");
  EXPECT_THAT(list.untried, HasSubstr("udmabuf (called as"));
  EXPECT_THAT(list.untried, HasSubstr("with space (not one printable word)"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(make("c" + std::to_string(i)));
  list = list_heaps(directory.path());
  EXPECT_EQ(list.heaps.size(), HeapList::kMaxHeaps);
  EXPECT_THAT(list.untried, HasSubstr("(beyond the first 16)"));
}

TEST(ProbeHeaps, NamesTellWhatIsBehind) {
  for (const char* name : {"system", "system-uncached"}) {
    EXPECT_EQ(memory_of_heap(name), HeapMemory::kOrdinary) << name;
  }
  for (const char* name :
       {"system-secure", "protected,svp", "restricted_mtk_cm", "video-protection-region", "vpr",
        "VPR@0", "tegra-vpr", "System-Secure"}) {
    EXPECT_EQ(memory_of_heap(name), HeapMemory::kProtected) << name;
  }
  for (const char* name : {"reserved", "linux,cma", "vidbuf@0", "xsystem", "System", ""}) {
    EXPECT_EQ(memory_of_heap(name), HeapMemory::kContiguous) << name;
  }
}

using Runs = std::map<std::string, std::uint64_t>;

TEST(ProbeHeaps, TheAreaOfTheSameNameOrTheDefaultOne) {
  const struct {
    const char* heap;
    Runs runs;
    std::optional<std::string> area;
  } cases[] = {{"linux,cma", {{"linux,cma", 1}, {"reserved", 2}, {"camera", 3}}, "linux,cma"},
               {"camera", {{"linux,cma", 1}, {"camera", 3}}, "camera"},
               // debugfs before 6.1 cuts it.
               {"default-pool", {{"default-poo", 1}, {"b", 3}}, "default-poo"},
               {"camera-memory@0", {{"camera-memo", 1}}, "camera-memo"},
               {"default_cma_region", {{"linux,cma", 1}, {"camera", 3}}, "linux,cma"},
               {"default_cma_region", {{"reserved", 1}, {"camera", 3}}, "reserved"},
               {"default_cma_region", {{"default-pool", 1}, {"camera", 3}}, "default-pool"},
               {"default_cma_region", {{"cma-0", 1}}, "cma-0"},
               // Which of the two, nobody knows.
               {"default_cma_region", {{"linux,cma", 1}, {"reserved", 3}}, {}},
               {"default_cma_region", {{"one", 1}, {"two", 3}}, {}},
               // It may be a carve-out of which nothing is known.
               {"carveout_isp", {{"linux,cma", 1}}, {}},
               {"reserved", {{"linux,cma", 1}}, {}},
               {"reserved", {}, {}}};
  for (const auto& each : cases)
    EXPECT_EQ(area_of_heap(each.heap, each.runs), each.area) << each.heap;
}

TEST(ProbeHeaps, FourFramesMustBeFree) {
  Options options;
  options.frame_bytes = 12U << 20;
  EXPECT_THAT(heap_skip_reason("reserved", options), HasSubstr("not known"));
  options.largest_runs["reserved"] = (48U << 20) - 1;
  EXPECT_EQ(heap_skip_reason("reserved", options),
            "its largest free run is 47.9 MiB; four frames (48.0 MiB) are needed");
  options.largest_runs["reserved"] = 48U << 20;
  EXPECT_THAT(heap_skip_reason("reserved", options), IsEmpty());
  options.largest_runs["reserved"] = 1;
  options.bisect_limit = 1U << 30;  // how much there is, is the question
  EXPECT_THAT(heap_skip_reason("reserved", options), IsEmpty());
  EXPECT_THAT(heap_skip_reason("camera", options), HasSubstr("not known"));
  options.bisect_limit = 0;
  options.largest_runs.clear();
  options.any_heap = true;
  EXPECT_THAT(heap_skip_reason("reserved", options), IsEmpty());
}

TEST(ProbeHeaps, OfTwoHeapsOfOneAreaTheSecondIsSpared) {
  Options options;
  options.largest_runs["reserved"] = 1U << 30;
  TriedAreas tried;
  EXPECT_THAT(heap_skip_reason("default_cma_region", options, tried), IsEmpty());
  EXPECT_EQ(heap_skip_reason("reserved", options, tried),
            "the same memory as the heap default_cma_region");
  // What was spared was not tried.
  options.largest_runs["reserved"] = 1;
  tried.clear();
  EXPECT_THAT(heap_skip_reason("reserved", options, tried), HasSubstr("four frames"));
  EXPECT_THAT(tried, IsEmpty());
  // Nobody knows of what area these are.
  options.largest_runs.clear();
  options.any_heap = true;
  EXPECT_THAT(heap_skip_reason("one", options, tried), IsEmpty());
  EXPECT_THAT(heap_skip_reason("two", options, tried), IsEmpty());
}

}  // namespace
}  // namespace jetmem::probe
