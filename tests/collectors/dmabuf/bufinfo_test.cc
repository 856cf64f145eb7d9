// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/bufinfo.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

constexpr std::string_view kHeader49 = "\nDma-buf Objects:\nsize\tflags\tmode\tcount\texp_name\n";
constexpr std::string_view kHeader515 =
    "\nDma-buf Objects:\nsize    \tflags   \tmode    \tcount   \texp_name\tino     \n";
constexpr std::string_view kHeader68 =
    "\nDma-buf Objects:\nsize    \tflags   \tmode    \tcount   \texp_name\tino     \tname\n";

std::string text_of(std::string_view header, std::string_view rows, std::string_view total) {
  return std::string(header) + std::string(rows) + "\n" + std::string(total);
}

class BufinfoTest : public testing::Test {
 protected:
  Result<void> parse(std::string_view text, std::optional<std::string_view> end = {}) {
    return parse_bufinfo(text, end, info);
  }
  std::string message(std::string_view text) {
    const auto ok = parse(text);
    return ok ? "no error" : ok.error().message;
  }
  const DmabufShare* device(std::string_view name) const {
    for (const DmabufShare& share : info.devices) {
      if (share.name == name) return &share;
    }
    return nullptr;
  }
  Bufinfo info;
};

TEST_F(BufinfoTest, OfKernel49) {
  ASSERT_TRUE(parse(text_of(kHeader49,
                            "00016384\t00000002\t00000007\t00000002\tdrm\n"
                            "\tAttached Devices:\n\t54200000.dc\n\t57000000.gpu\n"
                            "Total 2 devices attached\n\n"
                            "12443648\t00000002\t00000007\t00000005\tnvmap_dmabuf\n"
                            "\tAttached Devices:\n\t57000000.gpu\n\t57000000.gpu\n"
                            "Total 2 devices attached\n\n",
                            "Total 2 objects, 12460032 bytes\n")));
  EXPECT_EQ(info.buffers, 2U);
  EXPECT_EQ(info.bytes, 12460032U);
  EXPECT_EQ(info.rows, 2U);
  EXPECT_EQ(info.row_bytes, 12460032U) << "16384, not what 00016384 would be in octal";
  EXPECT_EQ(info.largest, 12443648U);
  ASSERT_EQ(info.exporters.size(), 2U);
  EXPECT_EQ(info.exporters[1], (DmabufShare{"nvmap_dmabuf", 1, 12443648}));
  ASSERT_EQ(info.devices.size(), 2U);
  EXPECT_EQ(*device("57000000.gpu"), (DmabufShare{"57000000.gpu", 2, 12460032}))
      << "attached twice is once";
  EXPECT_EQ(info.devices_unknown, 0U);
}

TEST_F(BufinfoTest, Of515WithFencesAndNames) {
  ASSERT_TRUE(
      parse(text_of(kHeader515,
                    "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\t\n"
                    "\tExclusive fence: host1x sp-42 signalled\n"
                    "\tShared fence: nvgpu ch-511 unsignalled\n"
                    "\tAttached Devices:\n\t13800000.display\n"
                    "Total 1 devices attached\n\n"
                    "123456789012\t00000002\t00080007\t00000001\tsystem\t12345678901\tcam 0\n"
                    "\tAttached Devices:\nTotal 0 devices attached\n\n",
                    "Total 2 objects, 123465083412 bytes\n")));
  EXPECT_EQ(info.row_bytes, info.bytes);
  ASSERT_EQ(info.exporters.size(), 2U);
  EXPECT_EQ(info.exporters[0].name, "nvmap");
  EXPECT_EQ(info.exporters[1].name, "system");
  ASSERT_EQ(info.devices.size(), 1U) << "fences are no devices";
}

TEST_F(BufinfoTest, OfALargeFileTheTotalsAreWhole) {
  std::string head(kHeader68);
  head +=
      "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\t<none>\n"
      "\tAttached Devices:\n\tdisplay\nTotal 1 devices attached\n\n"
      "08294400\t00000002\t00080007\t00000003\tnvmap\t00004312\t<none>\n"
      "\tAttached Devices:\n\tdisplay\n";
  ASSERT_TRUE(
      parse(head, "Total 1 devices attached\n\n\nTotal 50000 objects, 414720000000 bytes\n"));
  EXPECT_EQ(info.buffers, 50000U);
  EXPECT_EQ(info.rows, 2U);
  EXPECT_EQ(info.row_bytes, 2U * 8294400);
  EXPECT_EQ(info.devices_unknown, 1U) << "the second's list was cut";
  EXPECT_EQ(device("display")->buffers, 1U);
}

// Names are chosen by programs, newlines among their 31 bytes.
TEST_F(BufinfoTest, ANameCannotPretendToBeAnythingThatCounts) {
  for (const std::string_view name :
       {"\nTotal 99 objects, 1 bytes", "\n\tAttached Devices:\n\tevil",
        "a\tb\nTotal 0 devices attached", "\n99999999\t1\t1\t1\tevil\t1\tx", "\xff\x1b[2J\n\n",
        "x\n\tExclusive fence: a b"}) {
    ASSERT_TRUE(parse(text_of(kHeader68,
                              "00004096\t00000002\t00080007\t00000003\tudmabuf\t00000001\t" +
                                  std::string(name) +
                                  "\n\tAttached Devices:\n\tgood\nTotal 1 devices attached\n\n",
                              "Total 1 objects, 4096 bytes\n")))
        << name;
    EXPECT_EQ(info.buffers, 1U);
    EXPECT_EQ(info.rows, 1U);
    EXPECT_EQ(info.row_bytes, 4096U);
    ASSERT_EQ(info.exporters.size(), 1U);
    EXPECT_EQ(info.exporters[0].name, "udmabuf");
    ASSERT_EQ(info.devices.size(), 1U) << name;
    EXPECT_EQ(info.devices[0].name, "good");
    EXPECT_EQ(info.devices_unknown, 0U);
  }
}

TEST_F(BufinfoTest, ListsThatDisagreeWithTheirCountAreLeftOut) {
  ASSERT_TRUE(parse(text_of(kHeader49,
                            "00004096\t00000002\t00000007\t00000003\tdrm\n"
                            "\tAttached Devices:\n\ta\nTotal 2 devices attached\n\n"
                            "\tERROR locking buffer object: skipping\n",
                            "Total 1 objects, 4096 bytes\n")));
  EXPECT_TRUE(info.devices.empty());
  EXPECT_EQ(info.devices_unknown, 1U);
  EXPECT_EQ(info.unlocked, 1U);
}

TEST_F(BufinfoTest, KindsAreBounded) {
  std::string rows;
  for (int i = 0; i < 100; ++i) {
    rows += "00004096\t00000002\t00000007\t00000003\texp" + std::to_string(i) +
            "\n\tAttached Devices:\n\tdev" + std::to_string(i) + "\nTotal 1 devices attached\n\n";
  }
  ASSERT_TRUE(parse(text_of(kHeader49, rows, "Total 100 objects, 409600 bytes\n")));
  EXPECT_EQ(info.exporters.size(), 33U);
  EXPECT_EQ(info.exporters.back().name, "other");
  EXPECT_EQ(info.exporters.back().buffers, 68U);
  EXPECT_EQ(info.devices.size(), 64U);
  EXPECT_EQ(info.beyond_bound, 36U);
  EXPECT_EQ(info.rows, 100U);

  rows = "00004096\t00000002\t00000007\t00000003\tdrm\n\tAttached Devices:\n";
  for (int i = 0; i < 100; ++i) rows += "\tdev" + std::to_string(i) + "\n";
  rows += "Total 100 devices attached\n\n";
  ASSERT_TRUE(parse(text_of(kHeader49, rows, "Total 1 objects, 4096 bytes\n")));
  EXPECT_EQ(info.devices.size(), 64U);
  EXPECT_EQ(info.beyond_bound, 36U);
}

// The ugly ladder.
TEST_F(BufinfoTest, RefusesWithLineAndFinding) {
  EXPECT_EQ(message(""), "line 0: expected 'Dma-buf Objects:'");
  EXPECT_EQ(message("\nrubbish\n"), "line 2: expected 'Dma-buf Objects:', found 'rubbish'");
  EXPECT_EQ(message("\nDma-buf Objects:\n"), "line 2: expected the names of the columns");
  EXPECT_EQ(message("\nDma-buf Objects:\na\tb\n"),
            "line 3: expected the names of the columns, found 'a?b'");
  const std::string bad = "last line: expected 'Total N objects, N bytes', found '";
  EXPECT_EQ(message(text_of(kHeader68, "", "")), bad + "'");
  EXPECT_EQ(message(text_of(kHeader68, "", "Total 8 objects, 995328")), bad + "'")
      << "a number that was cut is not a smaller number";
  EXPECT_EQ(message(text_of(kHeader68, "", "Total 8 objects, 99 bytes more\n")),
            bad + "Total 8 objects, 99 bytes more'");
  EXPECT_EQ(message(text_of(kHeader68, "", "Total 99999999999999999999 objects, 1 bytes\n")),
            bad + "Total 99999999999999999999 objects, 1 bytes'");
}

TEST_F(BufinfoTest, RowsThatAreNoneAreNotCounted) {
  for (const std::string_view row :
       {"4096\t00000002\t00080007\t00000003\tdrm\t00000001\t", "00004096\t2\t7\t3\tdrm\t1\t",
        "00004096\t00000002\t00080007\t00000003\tdrm",
        "99999999999999999999\t00000002\t00080007\t00000003\tdrm\t00000001\t",
        "00004096\t00000002\t00080007\t00000003\tdrm\t0000000x\t"}) {
    ASSERT_TRUE(
        parse(text_of(kHeader68, std::string(row) + "\n", "Total 1 objects, 4096 bytes\n")));
    EXPECT_EQ(info.rows, 0U) << row;
  }
}

}  // namespace
}  // namespace jetmem
