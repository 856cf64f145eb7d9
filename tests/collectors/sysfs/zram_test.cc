// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kHeader = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

class ZramTest : public SourceTest<ZramSource> {
 protected:
  void swaps(const std::string& lines) { fixture.file("/proc/swaps", kHeader + lines); }
  void zram(const std::string& leaf, std::string_view text) {
    fixture.file("/sys/block/zram0/" + leaf, text);
  }
  // The first device, of this file alone.
  const Zram::Device& device_of(const std::string& leaf, std::string_view text) {
    fixture.only("/proc/swaps", kHeader);
    zram(leaf, text);
    return reading().devices.at(0);
  }
};

TEST_F(ZramTest, FromTextToSamples) {
  swaps("/dev/zram0                             partition\t650224\t\t145408\t\t5\n");
  zram("disksize", "665833472\n");
  zram("initstate", "1\n");
  zram("comp_algorithm", "lzo [lzo-rle] lz4 lz4hc 842 zstd \n");
  zram("mm_stat",
       "148897792 54218379 56119296        0 57696256     1913        7     1038     1065\n");
  zram("io_stat", "       2        3        0   109056\n");
  EXPECT_EQ(value("jetmem_swap_areas"), 1);
  expect("jetmem_swap_area_*{device=/dev/zram0,type=partition}",
         "bytes=650224*1024 used_bytes=145408*1024 priority=5");
  EXPECT_EQ(value("jetmem_zram_algorithm_info{algorithm=lzo-rle,device=zram0}"), 1);
  expect("jetmem_zram_*{device=zram0}",
         "disk_bytes=665833472 initialized=1 original_bytes=148897792 compressed_bytes=54218379 "
         "used_bytes=56119296 limit_bytes=0 used_peak_bytes=57696256 same_pages=1913 "
         "huge_pages=1038 failed_reads_total=2 failed_writes_total=3");
  EXPECT_EQ(value("jetmem_zram_compression_ratio{device=zram0}"), 148897792.0 / 56119296);
}

TEST_F(ZramTest, OlderKernelsPrintFewerColumns) {
  const Zram::Device seven =
      device_of("mm_stat", "  131072    1280   20480        0   20480       30        0\n");  // 4.9
  EXPECT_EQ(seven.same_pages, 30U);
  EXPECT_EQ(seven.huge_pages, std::nullopt) << "not 0";
  EXPECT_EQ(absent("malformed"), 0U);
  const Zram::Device five = device_of("mm_stat", "  131072    1280   20480        0   20480\n");
  EXPECT_EQ(five.same_pages, std::nullopt);
  EXPECT_EQ(five.max_used_bytes, 20480U);
}

TEST_F(ZramTest, ADeviceThatIsNotSetUpIsNoError) {
  swaps("");
  fixture.files("/sys/block/zram0/", "disksize=0 initstate=0");
  zram("comp_algorithm", "[lzo-rle] lzo lz4 \n");
  zram("mm_stat",
       "       0        0        0        0        0        0        0        0        0\n");
  EXPECT_EQ(value("jetmem_swap_areas"), 0) << "measured";
  expect("jetmem_zram_*{device=zram0}", "initialized=0 disk_bytes=0");
}

TEST_F(ZramTest, NamesOfAreasAreUnescaped) {
  swaps(
      "/mnt/my\\040swap\\134x                    file\t\t2097136\t\t0\t\t-2\n"
      "/var/swap\\040(deleted)                  file\t\t16\t\t16\t\t-3\n"
      "/x\\12 file 16 0 0\n"
      "/y\\ file 16 0 0\n");
  ASSERT_EQ(reading().areas.size(), 4U);
  EXPECT_EQ(reading().areas[0].device, "/mnt/my swap\\x");
  EXPECT_EQ(reading().areas[0].priority, -2);
  EXPECT_EQ(reading().areas[0].type, "file");
  EXPECT_EQ(reading().areas[1].device, "/var/swap (deleted)");
  EXPECT_EQ(reading().areas[2].device, "/x\\12") << "no escape, as it stands";
  EXPECT_EQ(reading().areas[3].device, "/y\\");
}

TEST_F(ZramTest, DevicesAreInTheOrderOfTheirNumbers) {
  fixture.files("/sys/block/", "zram10/disksize=0 zram2/disksize=0 zram0/disksize=0");
  ASSERT_EQ(reading().devices.size(), 3U);
  EXPECT_EQ(reading().devices[0].name, "zram0");
  EXPECT_EQ(reading().devices[1].name, "zram2");
  EXPECT_EQ(reading().devices[2].name, "zram10");
}

// The ugly ladder.
TEST_F(ZramTest, ABadLineCostsItsAreaOnly) {
  for (const std::string bad : {"/dev/sda1", "/dev/sda1 partition", "/dev/sda1 partition 100 0",
                                "/dev/sda1 partition 100 0 1 x"}) {
    fixture.clear();
    swaps(bad + "\n/dev/zram0 partition 650224 0 5\n");
    ASSERT_TRUE(fixture.run()) << bad;
    ASSERT_EQ(reading().areas.size(), 1U) << bad;
    EXPECT_EQ(absent("malformed"), 1U) << bad;
    EXPECT_FALSE(reading().areas_known) << "how many there are is not known";
  }
}

TEST_F(ZramTest, AnOddColumnCostsThatColumn) {
  const auto odd = [&](std::string_view columns, std::string_view reason) {
    fixture.clear();
    swaps("/dev/sda1 partition " + std::string(columns) + "\n\n/dev/zram0 partition 64 0 5\n");
    EXPECT_EQ(reading().areas.size(), 2U) << columns;
    EXPECT_TRUE(reading().areas_known) << columns;
    EXPECT_EQ(absent(reason), 1U) << columns;
    return reading().areas[0];
  };
  EXPECT_EQ(odd("100 200 1", "impossible").used_bytes, std::nullopt);
  EXPECT_EQ(odd("100 18446744073709551488 1", "impossible").bytes, 102400U);
  EXPECT_EQ(odd("-1 0 1", "impossible").used_bytes, 0U);
  EXPECT_EQ(odd("99999999999999999999 0 1", "impossible").bytes, std::nullopt);
  EXPECT_EQ(odd("100 0 x", "malformed").priority, std::nullopt);
}

TEST_F(ZramTest, ABadFileCostsItsFiguresOnly) {
  for (const std::string_view bad : {""sv, "\n"sv, "1 2 3\n"sv, "1 2 3 4 5"sv, "\0\x01\xff\n"sv}) {
    fixture.only("/proc/swaps", kHeader);
    zram("mm_stat", bad);
    zram("disksize", "4096\n");
    EXPECT_EQ(reading().devices[0].original_bytes, std::nullopt);
    EXPECT_EQ(reading().devices[0].disksize, 4096U);
    EXPECT_EQ(absent("malformed"), 1U);
  }
  for (const std::string_view odd :
       {"1 2 3 4 -5\n", "1 2 3 4 5x\n", "1 2 3 4 99999999999999999999\n"}) {
    const Zram::Device& device = device_of("mm_stat", odd);
    EXPECT_EQ(device.original_bytes, 1U);
    EXPECT_EQ(device.max_used_bytes, std::nullopt);
    EXPECT_EQ(absent("malformed") + absent("impossible"), 1U);
  }
}

TEST_F(ZramTest, AlgorithmsWithoutAChoiceAreNone) {
  for (const char* bad : {"lzo lz4\n", "[lzo", "[]\n", "]lzo[\n", ""}) {
    EXPECT_EQ(device_of("comp_algorithm", bad).algorithm, "") << bad;
    EXPECT_EQ(absent("malformed"), 1U) << bad;
  }
}

TEST_F(ZramTest, Errors) {
  EXPECT_EQ(fixture.error_message(),
            "this kernel has neither swap (/proc/swaps) nor a zram device");
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.file("/proc/swaps", "Filename\tType");
  EXPECT_EQ(fixture.error_message(),
            "swaps: line 1: expected 'Filename', and a newline at the end, found 'Filename?Type'");
  fixture.only("/proc/swaps", "");
  EXPECT_EQ(fixture.run().error().code, Errc::kMalformed);
  zram("mm_stat", "0 0 0 0 0 0 0\n");
  ASSERT_TRUE(fixture.run()) << "the one device is still reported";
  EXPECT_EQ(absent("malformed"), 1U);
  EXPECT_FALSE(reading().areas_known);

  EXPECT_EQ(fixture.code_with("/proc/swaps", EACCES), Errc::kDenied);
  EXPECT_EQ(fixture.code_with("/sys/block/zram0/mm_stat", EACCES), Errc::kDenied);
  fixture.only("/sys/block/zram0/mm_stat", "x\n");
  EXPECT_EQ(fixture.error_message(), "/sys/block/zram0/mm_stat: expected numbers, found 'x?'");
  fixture.clear();
  fixture.error("/proc/swaps", ENOENT);
  zram("mm_stat", "0 0 0 0 0 0 0\n");
  ASSERT_TRUE(fixture.run()) << "zram without swap";
  EXPECT_FALSE(has("jetmem_swap_areas"));
}

TEST_F(ZramTest, TooMuchIsCounted) {
  std::string lines;
  for (int i = 0; i < 70; ++i) lines += "/swap" + std::to_string(i) + " file 16 0 -2\n";
  swaps(lines);
  for (int i = 0; i < 40; ++i) {
    fixture.file("/sys/block/zram" + std::to_string(i) + "/disksize", "0\n");
  }
  EXPECT_EQ(reading().areas.size(), 64U);
  EXPECT_EQ(reading().devices.size(), 32U);
  EXPECT_EQ(absent("beyond_bound"), 6U + 8);
  EXPECT_FALSE(has("jetmem_swap_areas"));
}

}  // namespace
}  // namespace jetmem
