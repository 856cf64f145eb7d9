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
  void debugfs(const std::string& folder, std::string_view count, std::string_view used,
               std::string_view maxchunk) {
    const std::string at = "/sys/kernel/debug/cma/" + folder;
    fixture.file(at + "/count", count);
    fixture.file(at + "/used", used);
    fixture.file(at + "/maxchunk", maxchunk);
  }
  void sysfs(const std::string& area, std::string_view leaf, std::string_view text) {
    fixture.file("/sys/kernel/mm/cma/" + area + "/" + std::string(leaf), text);
  }
  const std::vector<Cma::Area>& areas() { return fixture.reading().areas; }
};

// L4T 5.15: no CONFIG_CMA_SYSFS, debugfs with the old prefix.
TEST_F(CmaTest, DebugfsGivesSizeUseAndTheLargestRunInPages) {
  fixture.file("/proc/meminfo", kMeminfo);
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  debugfs("cma-linux,cma", "65536\n", "39424\n", "9216\n");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].name, "linux,cma");
  const auto value = [&](const char* metric) {
    return fixture.value(std::string(metric) + "{area=\"linux,cma\"}");
  };
  EXPECT_EQ(value("jetmem_cma_area_bytes"), 65536.0 * 4096);
  EXPECT_EQ(value("jetmem_cma_used_bytes"), 39424.0 * 4096);
  EXPECT_EQ(value("jetmem_cma_available_bytes"), (65536.0 - 39424.0) * 4096);
  EXPECT_EQ(value("jetmem_cma_largest_free_run_bytes"), 9216.0 * 4096);
  EXPECT_EQ(value("jetmem_cma_largest_free_run_min_1m_bytes"), 9216.0 * 4096);
  EXPECT_TRUE(std::isnan(value("jetmem_cma_alloc_pages_fail_total")));
  EXPECT_EQ(fixture.value("jetmem_cma_areas"), 1);
  EXPECT_EQ(absent("sysfs_absent"), 2U);
}

// 6.15 and later, without root.
TEST_F(CmaTest, SysfsGivesUseWhereDebugfsIsDenied) {
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("reserved", "alloc_pages_success", "3904\n");
  sysfs("reserved", "alloc_pages_fail", "1536\n");
  sysfs("reserved", "release_pages_success", "3000\n");
  sysfs("reserved", "total_pages", "65536\n");
  sysfs("reserved", "available_pages", "64632\n");
  fixture.error("/sys/kernel/debug/cma", EACCES);
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].used, 904U);
  EXPECT_EQ(areas()[0].largest_run, std::nullopt);
  EXPECT_EQ(value("jetmem_cma_alloc_pages_fail_total{area=reserved}"), 1536);
  EXPECT_EQ(absent("debugfs_denied"), 1U);
  EXPECT_EQ(absent("sysfs_absent"), 0U);
}

// Each pattern lists the folder anew, and one of them may fail.
TEST_F(CmaTest, APlaceThatCouldNotBeListedAgainIsNotAbsent) {
  fixture.file("/proc/meminfo", kMeminfo);
  fixture.error("/sys/kernel/debug/cma", EIO);
  fixture.file("/sys/kernel/debug/cma/cma-reserved/used", "904\n");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].total, std::nullopt);
  EXPECT_EQ(absent("debugfs_absent"), 0U);
  EXPECT_GE(absent("unreadable"), 1U);
}

// 5.13 to 6.14.
TEST_F(CmaTest, OldSysfsHasCountersOnlyAndDeniedOutranksAbsent) {
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("linux,cma", "alloc_pages_success", "3904\n");
  sysfs("linux,cma", "alloc_pages_fail", "1536\n");
  fixture.error("/sys/kernel/mm/cma/linux,cma/release_pages_success", ENOENT);
  fixture.error("/sys/kernel/mm/cma/linux,cma/total_pages", ENOENT);
  fixture.error("/sys/kernel/mm/cma/linux,cma/available_pages", ENOENT);
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(areas()[0].alloc_fail, 1536U);
  EXPECT_EQ(areas()[0].total, std::nullopt);
  EXPECT_EQ(absent("debugfs_denied"), 3U);  // size, use and largest run
  EXPECT_EQ(absent("sysfs_absent"), 0U);
}

TEST_F(CmaTest, AreasOfKernel49HaveNumbersForNames) {
  fixture.file("/proc/meminfo", kMeminfo);
  debugfs("cma-0", "102400\n", "40960\n", "61440\n");
  debugfs("cma-1", "16384\n", "11776\n", "2816\n");
  ASSERT_EQ(areas().size(), 2U);
  EXPECT_EQ(areas()[0].name, "0");
  EXPECT_EQ(areas()[1].name, "1");
}

TEST_F(CmaTest, AFolderCutTo15CharactersIsTheAreaOfSysfs) {
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("vpr-carveout", "alloc_pages_fail", "1\n");
  sysfs("linux,cma", "alloc_pages_fail", "2\n");
  debugfs("cma-vpr-carveou", "10\n", "1\n", "9\n");
  debugfs("cma-linux,cma", "20\n", "2\n", "18\n");
  ASSERT_EQ(areas().size(), 2U);
  EXPECT_EQ(areas()[0].name, "linux,cma");
  EXPECT_EQ(areas()[0].total, 20U);
  EXPECT_EQ(areas()[1].name, "vpr-carveout");
  EXPECT_EQ(areas()[1].total, 10U);
}

TEST_F(CmaTest, TwoAreasThatBeginAlikeAreNotGuessed) {
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("vpr-carveout", "alloc_pages_fail", "1\n");
  sysfs("vpr-carveout2", "alloc_pages_fail", "2\n");
  debugfs("cma-vpr-carveou", "10\n", "1\n", "9\n");
  ASSERT_EQ(areas().size(), 3U);
  EXPECT_EQ(areas()[0].name, "vpr-carveou");
  EXPECT_EQ(areas()[1].total, std::nullopt);
}

TEST_F(CmaTest, AnAreaReallyCalledCmaKeepsItsName) {
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("cma-isp", "alloc_pages_fail", "1\n");
  debugfs("cma-isp", "10\n", "1\n", "9\n");
  ASSERT_EQ(areas().size(), 1U);
  EXPECT_EQ(areas()[0].name, "cma-isp");
}

TEST_F(CmaTest, DeniedAndNotMountedAreKeptApart) {
  fixture.file("/proc/meminfo", kMeminfo);
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  fixture.error("/sys/kernel/debug/cma", EACCES);
  const auto denied = fixture.run();
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Errc::kDenied);
  EXPECT_EQ(denied.error().message,
            "the figures of the areas may not be read; totals are in meminfo");

  fixture.only("/proc/meminfo", kMeminfo);
  fixture.error("/sys/kernel/mm/cma", ENOENT);
  fixture.error("/sys/kernel/debug/cma", ENOENT);
  const auto silent = fixture.run();
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Errc::kAbsent) << "not mounted is not denied";
}

TEST_F(CmaTest, AKernelWithoutCmaIsAbsentAndOneWithoutAreasIsNot) {
  fixture.file("/proc/meminfo", kNoCma);
  fixture.error("/sys/kernel/debug/cma", EACCES);
  const auto none = fixture.run();
  EXPECT_EQ(none.error().code, Errc::kAbsent);
  EXPECT_EQ(none.error().message, "this kernel has no CMA: no CmaTotal in /proc/meminfo");

  fixture.only("/proc/meminfo", "CmaTotal: 0 kB\nCmaFree: 0 kB\n");
  fixture.error("/sys/kernel/debug/cma", EACCES);
  EXPECT_EQ(value("jetmem_cma_areas"), 0);
  EXPECT_EQ(absent("debugfs_denied"), 0U);  // nothing is missing
}

TEST_F(CmaTest, WithoutAPageSizePagesDoNotBecomeBytes) {
  fixture.facts.page_size.reset();
  fixture.file("/proc/meminfo", kMeminfo);
  sysfs("linux,cma", "alloc_pages_fail", "2\n");
  debugfs("linux,cma", "20\n", "2\n", "18\n");
  EXPECT_EQ(absent("page_size_unknown"), 4U);
  EXPECT_EQ(value("jetmem_cma_alloc_pages_fail_total{area=\"linux,cma\"}"), 2);
}

TEST_F(CmaTest, PagesOfOtherSizes) {
  fixture.facts.page_size = 16384;
  fixture.file("/proc/meminfo", kMeminfo);
  debugfs("linux,cma", "4096\n", "0\n", "4096\n");
  EXPECT_EQ(fixture.sample("jetmem_cma_area_bytes{area=\"linux,cma\"}"), 64.0 * 1024 * 1024);
}

// The ugly ladder: one bad file leaves out one figure.
TEST_F(CmaTest, ABadFileCostsItsFigureOnly) {
  for (const std::string_view bad : no_numbers({"-5\n"})) {
    fixture.only("/proc/meminfo", kMeminfo);
    debugfs("linux,cma", "65536\n", "39424\n", bad);
    EXPECT_EQ(areas()[0].used, 39424U);
    EXPECT_EQ(areas()[0].largest_run, std::nullopt);
    EXPECT_EQ(absent("malformed"), 1U);
  }
}

TEST_F(CmaTest, FiguresThatCannotBeAreLeftOut) {
  fixture.file("/proc/meminfo", kMeminfo);
  debugfs("a", "100\n", "101\n", "100\n");
  debugfs("b", "100\n", "100\n", "101\n");
  sysfs("c", "total_pages", "100\n");
  sysfs("c", "available_pages", "101\n");
  EXPECT_EQ(areas()[0].used, std::nullopt);
  EXPECT_EQ(areas()[1].largest_run, std::nullopt);
  EXPECT_EQ(areas()[2].used, std::nullopt);
  EXPECT_EQ(absent("inconsistent"), 3U);
}

TEST_F(CmaTest, WithoutMeminfoTheAreasStillCount) {
  debugfs("linux,cma", "65536\n", "39424\n", "9216\n");
  EXPECT_EQ(areas()[0].total, 65536U);
  EXPECT_EQ(absent("meminfo_unreadable"), 1U);
}

TEST_F(CmaTest, NothingAtAllIsAnError) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.file("/proc/meminfo", "rubbish\n");
  EXPECT_EQ(fixture.error_message(), "meminfo: no line of the form 'Name: number'");
  fixture.only("/proc/meminfo", kNoCma);
  debugfs("linux,cma", "x", "x", "x");
  EXPECT_EQ(fixture.error_message(), "1 areas, and no figure could be understood");
  fixture.only("/proc/meminfo", kNoCma);
  fixture.error("/sys/kernel/debug/cma/linux,cma/count", EPERM);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
}

TEST_F(CmaTest, TooManyAreasAreCountedNotStored) {
  fixture.file("/proc/meminfo", kMeminfo);
  for (int i = 0; i < 100; ++i) debugfs("area" + std::to_string(i), "10\n", "1\n", "9\n");
  EXPECT_EQ(areas().size(), 64U);
  EXPECT_EQ(absent("too_many_areas"), 36U * 3);
}

}  // namespace
}  // namespace jetmem
