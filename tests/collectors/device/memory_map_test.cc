// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/memory_map.h"

#include <gtest/gtest.h>

#include <string>

#include "collectors/device/kernel_arguments.h"

namespace jetmem::device {
namespace {

TEST(Iomem, PluggedInMemoryStandsBelowItsDevice) {
  MemoryMap map;
  ASSERT_EQ(parse_iomem("00001000-0009ffff : System RAM\n"
                        "100000000-1ffffffff : Persistent Memory\n"
                        "  100000000-1ffffffff : dax0.0\n"
                        "    100000000-1ffffffff : System RAM (kmem)\n",
                        map),
            MapState::kKnown);
  EXPECT_EQ(map.memory.bytes(), 0x9f000U + 0x100000000U);
}

TEST(Iomem, OddLinesAreCountedAndDoNotHide) {
  MemoryMap map;
  ASSERT_EQ(parse_iomem("80000000-8fffffff : System RAM\n"
                        "\n"
                        "zz-80 : System RAM\n"
                        "90000000-8fffffff : System RAM\n"
                        "90000000-ffffffffffffffffff : System RAM\n"
                        "90000000-9fffffff: System RAM\n"
                        "  \n"
                        "00000000-ffffffffffffffff : System RAM\n",
                        map),
            MapState::kKnown);
  EXPECT_EQ(map.memory.bytes(), 0x10000000U);
  EXPECT_EQ(map.malformed, 6U);
}

TEST(Iomem, TheUglyLadder) {
  MemoryMap map;
  // Without the privilege addresses are hidden, not zero.
  EXPECT_EQ(parse_iomem("00000000-00000000 : System RAM\n  00000000-00000000 : Kernel code\n", map),
            MapState::kHidden);
  // A list that was cut is a part of the memory.
  for (const char* text : {"", "\n", "80000000-8ffff", "80000000-8fffffff : System RAM",
                           "fec00000-fec003ff : IOAPIC 0\n"}) {
    EXPECT_EQ(parse_iomem(text, map), MapState::kMalformed) << text;
  }
  std::string many;
  for (int i = 100; i < 400; ++i) {
    const std::string page = std::to_string(i);
    many += page + "000-" + page + "001 : System RAM\n";
  }
  EXPECT_EQ(parse_iomem(many, map), MapState::kTooMany);
}

TEST(Memblock, WithAndWithoutFlags) {
  MemoryMap map;
  // 4.9 to 6.3.
  ASSERT_EQ(parse_memblock("   0: 0x0000000080000000..0x00000000abffffff\n"
                           "   1: 0x00000000ac200000..0x00000000f07fffff\n",
                           map),
            MapState::kKnown);
  EXPECT_EQ(map.memory.bytes(), 0x2c000000U + 0x44600000U);
  EXPECT_FALSE(map.knows_firmware);
  // 6.8.
  ASSERT_EQ(parse_memblock("   0: 0x0000000080000000..0x00000000fffdffff    0 NONE\n"
                           "   1: 0x00000000fffe0000..0x00000000ffffffff    0 NOMAP\n"
                           "   2: 0x0000000100000000..0x00000001ffffffff    x HOTPLUG\n",
                           map),
            MapState::kKnown);
  EXPECT_EQ(map.memory.bytes(), 0x7ffe0000U + 0x100000000U);
  EXPECT_EQ(map.firmware.bytes(), 0x20000U);
  EXPECT_TRUE(map.knows_firmware);
}

TEST(Memblock, TheUglyLadder) {
  MemoryMap map;
  for (const char* text : {"", "\n", "   0: 0x80..0x8f", "   0: 80..8f\n", "   0: 0x80..\n",
                           "   0: 0x90..0x8f\n", "   0: 0x80..0x8fg\n", "0x80..0x8f\n"}) {
    EXPECT_EQ(parse_memblock(text, map), MapState::kMalformed) << text;
  }
}

constexpr std::string_view kZone =
    "Node 0, zone      DMA\n"
    "  pages free     3840\n"
    "        spanned  524288\n"
    "        present  523872\n"
    "        managed  461026\n"
    "      nr_free_pages 1\n"
    "  pagesets\n"
    "    cpu: 0\n"
    "  start_pfn:           524288\n"
    "Node 0, zone    DMA32\n"
    "  pages free     0\n"
    "        spanned  0\n"
    "        present  0\n"
    "        managed  0\n"
    "Node 0, zone   Normal\n"
    "        spanned  1000\n"
    "        present  900\n"
    "  start_pfn:           1048576\n";

TEST(ZonePages, AreSummedAndBounded) {
  ZonePages pages;
  ASSERT_EQ(parse_zone_pages(kZone, pages), MapState::kKnown);
  EXPECT_EQ(pages.present, 523872U + 900U);
  EXPECT_EQ(pages.lowest, 524288U);
  EXPECT_EQ(pages.end, 1048576U + 1000U);
}

TEST(ZonePages, AZoneInPartIsNone) {
  ZonePages pages;
  for (const std::string_view text :
       {std::string_view(), kZone.substr(0, kZone.size() - 1),
        kZone.substr(0, kZone.find("  start_pfn")),
        std::string_view("Node 0, zone Normal\n  present 5\n  start_pfn: 1\n"),
        std::string_view("Node 0, zone Normal\n  spanned 5\n  present 5000000000000000000\n"
                         "  start_pfn: 1\n"),
        std::string_view("Node 0, zone Normal\n  spanned 5x\n  present 5\n")}) {
    EXPECT_EQ(parse_zone_pages(text, pages), MapState::kMalformed) << text;
  }
}

TEST(KernelArguments, TheLastOfANameCounts) {
  EXPECT_EQ(kernel_argument("quiet cma=64M numa_cma=0:1G cma=256M@0-4G\n", "cma"), "256M@0-4G");
  EXPECT_EQ(kernel_argument("xcma=1M cma quiet\n", "cma"), "");
  EXPECT_EQ(kernel_argument("", "cma"), "");
  EXPECT_EQ(kernel_argument("cma=64M -- cma=1G\n", "cma"), "64M") << "init's";
}

TEST(KernelArguments, SizesAreReadAsTheKernelReadsThem) {
  EXPECT_EQ(memory_argument("256M"), 256U << 20);
  EXPECT_EQ(memory_argument("1g@0-4G"), 1U << 30);
  EXPECT_EQ(memory_argument("0x10000000"), 256U << 20);
  EXPECT_EQ(memory_argument("0X10M"), 16U << 20);
  EXPECT_EQ(memory_argument("0100M"), 64U << 20) << "octal";
  EXPECT_EQ(memory_argument("0"), 0U);
  for (const char* none : {"", "M", "-1M", "99999999999999999999", "64E", "2000T"}) {
    EXPECT_EQ(memory_argument(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace jetmem::device
