// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(Swap, Errors) {
  EXPECT_EQ(one("Read-error on swap-device (179:2:812)"),
            "swap_error op=read dev=179:2 sector=812");
  EXPECT_EQ(one("Write-error on swap-device(252:1:72)"), "swap_error op=write dev=252:1 sector=72");
  EXPECT_EQ(one("Read-error on swap-device"), "swap_error op=read");
  EXPECT_EQ(one("Write error -5 on dio swapfile (64)"), "swap_error op=write err=-5 offset=64");
  EXPECT_EQ(one("Write error on dio swapfile (64)"), "swap_error op=write offset=64");
  EXPECT_EQ(one("get_swap_device: Bad swap file entry 68a1"),
            "swap_error op=entry function=get_swap_device error=Bad swap file entry entry=68a1");
  EXPECT_EQ(one("Read-error on swap-device (x:2:812)"), "");
  EXPECT_EQ(one("Read-error on swap-device (179:2:81"), "swap_error op=read dev=179:2");
}

TEST(Swap, Zram) {
  EXPECT_EQ(one("zram: Decompression failed! err=-5, page=44"),
            "zram_error op=read err=-5 page=44");
  EXPECT_EQ(one("zram: Compression failed! err=-12"), "zram_error op=write err=-12");
  EXPECT_EQ(one("zram: Error allocating memory for compressed page: 7, size=30"),
            "zram_error page=7 size=30");
  EXPECT_EQ(one("zram: Added device: zram1"), "");
  EXPECT_EQ(one("Adding 1015k swap on /dev/zram0.  Priority:5 extents:1 across:1015k SS"), "");
}

}  // namespace
}  // namespace jetmem::kernel_log
