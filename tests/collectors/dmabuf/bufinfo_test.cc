// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/bufinfo.h"

#include <gtest/gtest.h>

#include <sstream>

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
// A buffer, and the lines of the devices that it is attached to.
std::string row_of(std::string_view row, std::string_view devices, int count) {
  return std::string(row) + "\n\tAttached Devices:\n" + std::string(devices) + "Total " +
         std::to_string(count) + " devices attached\n\n";
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
  // "buffers/bytes rows/bytes | exporter buffers/bytes ... | device buffers/bytes ...".
  std::string shown() const {
    std::ostringstream out;
    out << info.buffers << '/' << info.bytes << ' ' << info.rows << '/' << info.row_bytes;
    for (const auto* shares : {&info.exporters, &info.devices}) {
      out << " |";
      for (const DmabufShare& each : *shares) {
        out << ' ' << each.name << ' ' << each.buffers << '/' << each.bytes;
      }
    }
    return out.str();
  }
  Bufinfo info;
};

TEST_F(BufinfoTest, OfKernel49) {
  ASSERT_TRUE(parse(text_of(
      kHeader49,
      row_of("00016384\t00000002\t00000007\t00000002\tdrm", "\t54200000.dc\n\t57000000.gpu\n", 2) +
          row_of("12443648\t00000002\t00000007\t00000005\tnvmap_dmabuf",
                 "\t57000000.gpu\n\t57000000.gpu\n", 2),
      "Total 2 objects, 12460032 bytes\n")));
  // 16384, not what 00016384 would be in octal; and attached twice is once.
  EXPECT_EQ(shown(),
            "2/12460032 2/12460032 | drm 1/16384 nvmap_dmabuf 1/12443648 | 54200000.dc 1/16384 "
            "57000000.gpu 2/12460032");
  EXPECT_EQ(info.largest, 12443648U);
  EXPECT_EQ(info.devices_unknown, 0U);
}

TEST_F(BufinfoTest, Of515WithFencesAndNames) {
  const std::string rows =
      "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\t\n"
      "\tExclusive fence: host1x sp-42 signalled\n"
      "\tShared fence: nvgpu ch-511 unsignalled" +
      row_of("", "\t13800000.display\n", 1) +
      row_of("123456789012\t00000002\t00080007\t00000001\tsystem\t12345678901\tcam 0", "", 0);
  ASSERT_TRUE(parse(text_of(kHeader515, rows, "Total 2 objects, 123465083412 bytes\n")));
  EXPECT_EQ(shown(),
            "2/123465083412 2/123465083412 | nvmap 1/8294400 system 1/123456789012 | "
            "13800000.display 1/8294400");
}

TEST_F(BufinfoTest, OfALargeFileTheTotalsAreWhole) {
  const std::string row = "08294400\t00000002\t00080007\t00000003\tnvmap\t00004311\t<none>";
  ASSERT_TRUE(parse(std::string(kHeader68) + row_of(row, "\tdisplay\n", 1) + row +
                        "\n\tAttached Devices:\n\tdisplay\n",
                    "Total 1 devices attached\n\n\nTotal 50000 objects, 414720000000 bytes\n"));
  EXPECT_EQ(shown(), "50000/414720000000 2/16588800 | nvmap 2/16588800 | display 1/8294400");
  EXPECT_EQ(info.devices_unknown, 1U) << "the second's list was cut";
}

// Names are chosen by programs, newlines among their 31 bytes.
TEST_F(BufinfoTest, ANameCannotPretendToBeAnythingThatCounts) {
  for (const std::string_view name :
       {"\nTotal 99 objects, 1 bytes", "\n\tAttached Devices:\n\tevil",
        "a\tb\nTotal 0 devices attached", "\n99999999\t1\t1\t1\tevil\t1\tx", "\xff\x1b[2J\n\n",
        "x\n\tExclusive fence: a b"}) {
    const std::string row = "00004096\t00000002\t00080007\t00000003\tudmabuf\t00000001\t";
    ASSERT_TRUE(parse(text_of(kHeader68, row_of(row + std::string(name), "\tgood\n", 1),
                              "Total 1 objects, 4096 bytes\n")))
        << name;
    EXPECT_EQ(shown(), "1/4096 1/4096 | udmabuf 1/4096 | good 1/4096") << name;
    EXPECT_EQ(info.devices_unknown, 0U);
  }
}

TEST_F(BufinfoTest, ListsThatDisagreeWithTheirCountAreLeftOut) {
  ASSERT_TRUE(parse(text_of(kHeader49,
                            row_of("00004096\t00000002\t00000007\t00000003\tdrm", "\ta\n", 2) +
                                "\tERROR locking buffer object: skipping\n",
                            "Total 1 objects, 4096 bytes\n")));
  EXPECT_TRUE(info.devices.empty());
  EXPECT_EQ(info.devices_unknown, 1U);
  EXPECT_EQ(info.unlocked, 1U);
}

TEST_F(BufinfoTest, KindsAreBounded) {
  std::string rows;
  std::string devices;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    rows += row_of("00004096\t00000002\t00000007\t00000003\texp" + n, "\tdev" + n + "\n", 1);
    devices += "\tdev" + n + "\n";
  }
  ASSERT_TRUE(parse(text_of(kHeader49, rows, "Total 100 objects, 409600 bytes\n")));
  EXPECT_EQ(info.exporters.size(), 33U);
  EXPECT_EQ(info.exporters.back(), (DmabufShare{"other", 68, 68 * 4096}));
  EXPECT_EQ(info.devices.size(), 64U);
  EXPECT_EQ(info.beyond_bound, 36U);
  EXPECT_EQ(info.rows, 100U);
  rows = row_of("00004096\t00000002\t00000007\t00000003\tdrm", devices, 100);
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
  // A number that was cut is not a smaller number.
  for (const auto& [total, found] :
       {std::pair("", ""),
        {"Total 8 objects, 995328", ""},
        {"Total 8 objects, 99 bytes more\n", "Total 8 objects, 99 bytes more"},
        {"Total 99999999999999999999 objects, 1 bytes\n",
         "Total 99999999999999999999 objects, 1 bytes"}}) {
    EXPECT_EQ(message(text_of(kHeader68, "", total)),
              std::string("last line: expected 'Total N objects, N bytes', found '") + found + "'");
  }
  // Rows that are none are not counted.
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
