// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/cma.h"

#include <gtest/gtest.h>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kMeminfo =
    "MemTotal:        7802992 kB\n"
    "CmaTotal:         262144 kB\n"
    "CmaFree:           59540 kB\n";
constexpr std::string_view kNoCma = "MemTotal:        7802992 kB\n";

class CmaTest : public SourceTest<CmaSource> {
 protected:
  CmaTest() { fixture.file("/proc/meminfo", kMeminfo); }
  void debugfs(const std::string& folder, const std::string& texts) {
    fixture.files("/sys/kernel/debug/cma/" + folder + "/", texts);
  }
  void sysfs(const std::string& area, const std::string& texts) {
    fixture.files("/sys/kernel/mm/cma/" + area + "/", texts);
  }
  const std::vector<Cma::Area>& areas() { return fixture.reading().areas; }
};

// L4T 5.15: no CONFIG_CMA_SYSFS, debugfs with the old prefix.
TEST_F(CmaTest, DebugfsGivesSizeUseAndTheLargestRunInPages) {
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  debugfs("cma-linux,cma", "count=65536 used=39424 maxchunk=9216");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].name, "linux,cma");
  expect("jetmem_cma_*{area=\"linux,cma\"}",
         "area_bytes=65536*4096 used_bytes=39424*4096 available_bytes=26112*4096 "
         "largest_free_run_bytes=9216*4096 largest_free_run_min_1m_bytes=9216*4096 "
         "alloc_pages_fail_total=none");
  EXPECT_EQ(value("jetmem_cma_areas"), 1);
  EXPECT_EQ(all_absent(), "sysfs_absent 2");
}

// 6.15 and later, without root.
TEST_F(CmaTest, SysfsGivesUseWhereDebugfsIsDenied) {
  sysfs("reserved",
        "alloc_pages_success=3904 alloc_pages_fail=1536 release_pages_success=3000 "
        "total_pages=65536 available_pages=64632");
  fixture.error("/sys/kernel/debug/cma", EACCES);
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].used, 904U);
  EXPECT_EQ(areas()[0].largest_run, std::nullopt);
  EXPECT_EQ(value("jetmem_cma_alloc_pages_fail_total{area=reserved}"), 1536);
  EXPECT_EQ(all_absent(), "debugfs_denied 1");
}

// Each pattern lists the folder anew, and one of them may fail.
TEST_F(CmaTest, APlaceThatCouldNotBeListedAgainIsNotAbsent) {
  fixture.error("/sys/kernel/debug/cma", EIO);
  fixture.file("/sys/kernel/debug/cma/cma-reserved/used", "904\n");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].total, std::nullopt);
  EXPECT_EQ(absent("debugfs_absent"), 0U);
  EXPECT_GE(absent("unreadable"), 1U);
}

// 5.13 to 6.14.
TEST_F(CmaTest, OldSysfsHasCountersOnlyAndDeniedOutranksAbsent) {
  sysfs("linux,cma", "alloc_pages_success=3904 alloc_pages_fail=1536");
  for (const char* leaf : {"release_pages_success", "total_pages", "available_pages"}) {
    fixture.error("/sys/kernel/mm/cma/linux,cma/" + std::string(leaf), ENOENT);
  }
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(areas()[0].alloc_fail, 1536U);
  EXPECT_EQ(areas()[0].total, std::nullopt);
  EXPECT_EQ(all_absent(), "debugfs_denied 3");  // size, use and largest run
}

TEST_F(CmaTest, AreasOfKernel49HaveNumbersForNames) {
  debugfs("cma-0", "count=102400");
  debugfs("cma-1", "count=16384");
  ASSERT_EQ(areas().size(), 2U);
  EXPECT_EQ(areas()[0].name, "0");
  EXPECT_EQ(areas()[1].name, "1");
  // One really called cma keeps its name.
  fixture.only("/proc/meminfo", kMeminfo);
  sysfs("cma-isp", "alloc_pages_fail=1");
  debugfs("cma-isp", "count=10");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].name, "cma-isp");
}

TEST_F(CmaTest, AFolderCutTo15CharactersIsTheAreaOfSysfs) {
  sysfs("vpr-carveout", "alloc_pages_fail=1");
  sysfs("linux,cma", "alloc_pages_fail=2");
  debugfs("cma-vpr-carveou", "count=10");
  debugfs("cma-linux,cma", "count=20");
  ASSERT_EQ(areas().size(), 2U);
  EXPECT_EQ(areas()[0].name, "linux,cma");
  EXPECT_EQ(areas()[0].total, 20U);
  EXPECT_EQ(areas()[1].name, "vpr-carveout");
  EXPECT_EQ(areas()[1].total, 10U);
  // Two that begin alike are not guessed.
  fixture.only("/proc/meminfo", kMeminfo);
  for (const char* area : {"vpr-carveout", "vpr-carveout2"}) sysfs(area, "alloc_pages_fail=1");
  debugfs("cma-vpr-carveou", "count=10");
  ASSERT_EQ(areas().size(), 3U);
  EXPECT_EQ(areas()[0].name, "vpr-carveou");
  EXPECT_EQ(areas()[1].total, std::nullopt);
}

TEST_F(CmaTest, DeniedAndNotMountedAreKeptApart) {
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  EXPECT_EQ(fixture.error_message(),
            "the figures of the areas may not be read; totals are in meminfo");
  fixture.only("/proc/meminfo", kMeminfo);
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  fixture.error("/sys/kernel/debug/cma", ENOENT);
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent) << "not mounted is not denied";
}

TEST_F(CmaTest, AKernelWithoutCmaIsAbsentAndOneWithoutAreasIsNot) {
  fixture.only("/proc/meminfo", kNoCma);
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.error_message(), "this kernel has no CMA: no CmaTotal in /proc/meminfo");

  fixture.only("/proc/meminfo", "CmaTotal: 0 kB\nCmaFree: 0 kB\n");
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(value("jetmem_cma_areas"), 0);
  EXPECT_EQ(all_absent(), "");  // nothing is missing
}

TEST_F(CmaTest, PagesAreOfTheMachinesSizeOrNoBytes) {
  sysfs("linux,cma", "alloc_pages_fail=2");
  debugfs("linux,cma", "count=4096 used=0 maxchunk=4096");
  fixture.facts.page_size = 16384;
  EXPECT_EQ(value("jetmem_cma_area_bytes{area=\"linux,cma\"}"), 64.0 * 1024 * 1024);
  fixture.facts.page_size.reset();
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(absent("page_size_unknown"), 4U);
  EXPECT_EQ(value("jetmem_cma_alloc_pages_fail_total{area=\"linux,cma\"}"), 2);
}

// The ugly ladder: one bad file leaves out one figure.
TEST_F(CmaTest, ABadFileCostsItsFigureOnly) {
  for (const std::string_view bad : no_numbers({"-5\n"})) {
    debugfs("linux,cma", "count=65536 used=39424");
    fixture.file("/sys/kernel/debug/cma/linux,cma/maxchunk", bad);
    EXPECT_EQ(areas()[0].used, 39424U);
    EXPECT_EQ(areas()[0].largest_run, std::nullopt);
    EXPECT_EQ(absent("malformed"), 1U);
    fixture.only("/proc/meminfo", kMeminfo);
  }
}

TEST_F(CmaTest, FiguresThatCannotBeAreLeftOut) {
  debugfs("a", "count=100 used=101 maxchunk=100");
  debugfs("b", "count=100 used=100 maxchunk=101");
  sysfs("c", "total_pages=100 available_pages=101");
  EXPECT_EQ(areas()[0].used, std::nullopt);
  EXPECT_EQ(areas()[1].largest_run, std::nullopt);
  EXPECT_EQ(areas()[2].used, std::nullopt);
  EXPECT_EQ(absent("inconsistent"), 3U);
}

TEST_F(CmaTest, NothingAtAllIsAnError) {
  fixture.clear();
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.file("/proc/meminfo", "rubbish\n");
  EXPECT_EQ(fixture.error_message(), "meminfo: no line of the form 'Name: number'");
  fixture.only("/proc/meminfo", kNoCma);
  fixture.file("/sys/kernel/debug/cma/linux,cma/count", "x");
  EXPECT_EQ(fixture.error_message(), "1 areas, and no figure could be understood");
  fixture.only("/proc/meminfo", kNoCma);
  fixture.error("/sys/kernel/debug/cma/linux,cma/count", EPERM);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  // Without meminfo the areas still count.
  fixture.clear();
  debugfs("linux,cma", "count=65536 used=39424 maxchunk=9216");
  EXPECT_EQ(areas()[0].total, 65536U);
  EXPECT_EQ(absent("meminfo_unreadable"), 1U);
}

TEST_F(CmaTest, TooManyAreasAreCountedNotStored) {
  for (int i = 0; i < 100; ++i) debugfs("area" + std::to_string(i), "count=10 used=1 maxchunk=9");
  EXPECT_EQ(areas().size(), 64U);
  EXPECT_EQ(absent("too_many_areas"), 36U * 3);
}

}  // namespace
}  // namespace jetmem
