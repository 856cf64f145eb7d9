// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvmap/tables.h"

#include <gtest/gtest.h>

#include <string>

namespace jetmem::nvmap {
namespace {

TEST(NvmapSize, HasAUnitOrIsKibibytes) {
  EXPECT_EQ(size_of("23525644K"), 23525644ULL * 1024);
  EXPECT_EQ(size_of("0K"), 0U);
  EXPECT_EQ(size_of("17M"), 17ULL << 20);
  EXPECT_EQ(size_of("2G"), 2ULL << 30);
  EXPECT_EQ(size_of("12"), 12ULL * 1024);
  for (const char* bad : {"", "K", "12X", "12KB", "-1K", "0x10K", "12 K", "99999999999999K",
                          "18446744073709551616K"}) {
    EXPECT_EQ(size_of(bad), std::nullopt) << bad;
  }
}

TEST(NvmapClientRow, NamesAreWhatProcessesCallThemselves) {
  const auto name = [](std::string_view line) {
    const auto row = client_row(line);
    return row ? std::string(row->process) + "/" + std::to_string(row->pid) : "none";
  };
  EXPECT_EQ(name("user                      Web Content     1840       1024K"), "Web Content/1840");
  EXPECT_EQ(name("user                     queue1:src-2     1840       1024K"),
            "queue1:src-2/1840");
  EXPECT_EQ(name("user                        worker 12     1840       1024K"), "worker 12/1840");
  EXPECT_EQ(name("user                             4711     1840       1024K"), "4711/1840");
  EXPECT_EQ(name("user                         7 10K 9G     1840       1024K"), "7 10K 9G/1840");
  EXPECT_EQ(name("user                                      1840       1024K"), "/1840");
  EXPECT_EQ(name("nvdla0                         kernel        0        512K"), "kernel/0");
  EXPECT_EQ(name("a-driver-with-a-long-name             kernel        0        512K"), "kernel/0");
  EXPECT_EQ(name("user                   nvargus-daemon  4194304   23525644K"),
            "nvargus-daemon/4194304");
}

TEST(NvmapClientRow, AColumnOfPssIsPassedOver) {
  const auto row =
      client_row("user                   nvargus-daemon     1012      20480K     262144K");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->process, "nvargus-daemon");
  EXPECT_EQ(row->pid, 1012U);
  EXPECT_EQ(row->bytes, 262144ULL * 1024);
}

TEST(NvmapClientRow, RefusesWhatIsNone) {
  for (const char* bad : {"", " ", "user", "1024K", "7979 1024K", "user gpu_burn pid 1024K",
                          "user gpu_burn 7979 many", "user gpu_burn 99999999999 1024K",
                          "total                                             23549320K"}) {
    const auto row = client_row(bad);
    EXPECT_FALSE(row && !row->process.empty()) << bad;
  }
}

TEST(NvmapTotalRow, IsTheWordAndASize) {
  EXPECT_EQ(total_row("total                                            23549320K"),
            23549320ULL * 1024);
  EXPECT_EQ(total_row("total                                   10K         20K"), 20480U);
  EXPECT_EQ(total_row("total     evil       1012      20K"), std::nullopt);
  EXPECT_EQ(total_row("totals                                         20K"), std::nullopt);
  EXPECT_EQ(total_row("total"), std::nullopt);
}

TEST(NvmapOrphanRow, WithAndWithoutShare) {
  const auto row =
      orphan_row("       0      12288K   d000b03      1      0      1 00000000b7d0c5a2");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->bytes, 12288U * 1024);
  EXPECT_EQ(row->uid, "00000000b7d0c5a2");
  const auto share =
      orphan_row("f0000000         64K   d000b03      1      0      1      0 ffffffc0a1c3e480");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->bytes, 65536U);
  EXPECT_EQ(share->uid, "ffffffc0a1c3e480");
}

TEST(NvmapOrphanRow, AHiddenUidIsNone) {
  const auto text =
      orphan_row("       0      12288K   d000b03      1      0      1 (____ptrval____)");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->uid, "");
}

TEST(NvmapOrphanRow, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "0", "zz 1K 0 1 0 0 ff", "0 many 0 1 0 0 ff", "0 1K zz 1 0 0 ff", "0 1K 0 x 0 0 ff",
        "0 1K 0 1 ff", "0 1K 0 1 1 1 1 1 1 1 ff", "    BASE        SIZE USERFLAGS"}) {
    EXPECT_EQ(orphan_row(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace jetmem::nvmap
