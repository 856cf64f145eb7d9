// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogHost1x, StuckSyncpoint) {
  EXPECT_EQ(
      decoded("host1x 13e00000.host1x: my_app:worker: syncpoint id 44 (15340000.vic_my_app_0) "
              "stuck waiting 77, timeout=100000"),
      "host1x_timeout dev=13e00000.host1x comm=my_app:worker syncpt=44 "
      "syncpt_name=15340000.vic_my_app_0 thresh=77 timeout=100000\n");
}

TEST(KernelLogHost1x, StuckSyncpointOfOtherKernels) {
  EXPECT_EQ(decoded("tegra-host1x 50000000.host1x: Xorg: syncpoint 12 stuck waiting 9, "
                    "timeout=2500"),
            "host1x_timeout dev=50000000.host1x comm=Xorg syncpt=12 thresh=9 timeout=2500\n");
  EXPECT_EQ(decoded("host1x 50000000.host1x: syncpoint id 7 (gfxhost) stuck waiting 1  "
                    "timeout=500"),
            "host1x_timeout dev=50000000.host1x syncpt=7 syncpt_name=gfxhost thresh=1 "
            "timeout=500\n");
}

TEST(KernelLogHost1x, ChannelTimeout) {
  const std::string head = "host1x 13e10000.host1x: cdma_handle_timeout: timeout: 21 (nvenc_0) ";
  const std::string fields = "host1x_timeout dev=13e10000.host1x syncpt=21 syncpt_name=nvenc_0 ";
  EXPECT_EQ(decoded(head + "clientid 8, HW thresh 300, done 302"),
            fields + "clientid=8 thresh=300 done=302 reached=300 awaited=302\n");
  EXPECT_EQ(decoded(head + "client 8, HW thresh 300, done 302"),
            fields + "clientid=8 thresh=300 done=302 reached=300 awaited=302\n");
  EXPECT_EQ(decoded(head + "ctx 0x00000000f00dcafe, HW thresh 300, done 302"),
            fields + "thresh=300 done=302 reached=300 awaited=302\n");
  EXPECT_EQ(decoded("tegra-host1x 50000000.host1x: cdma_timeout_handler: timeout: 5 (gr2d), HW "
                    "thresh 10, done 11"),
            "host1x_timeout dev=50000000.host1x syncpt=5 syncpt_name=gr2d thresh=10 done=11 "
            "reached=10 awaited=11\n");
}

TEST(KernelLogHost1x, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("tegra-host1x 13e00000.host1x: Adding to iommu group 4\n"
                    "host1x 13e10000.host1x: cdma_handle_timeout: Channel un-mapped\n"
                    "host1x 13e10000.host1x: app: syncpoint id x (y) stuck waiting 1\n"
                    "host1x 13e10000.host1x: app: syncpoint id 4 (y) went on\n"
                    "app: syncpoint id 4 (y) stuck waiting 1, timeout=5\n"),
            "");
}

// Which syncpoint it was is unknown then.
TEST(KernelLogHost1x, ATimeoutWithoutReadableNumbersIsOne) {
  for (const std::string text : {"timeout: x (nvenc_0)", "timeout: 99999999999999999999"}) {
    EXPECT_EQ(
        decoded("host1x 13e10000.host1x: cdma_handle_timeout: " + text),
        "host1x_timeout dev=13e10000.host1x function=cdma_handle_timeout text=" + text + "\n");
  }
}

TEST(KernelLogHost1x, Sentences) {
  EXPECT_EQ(sentence_of("host1x 13e00000.host1x: app: syncpoint id 4 (vic) stuck waiting 7, "
                        "timeout=100"),
            "a program waits (app) for an engine that does not finish its work, syncpoint 4 (vic) "
            "of 13e00000.host1x");
  EXPECT_EQ(sentence_of("host1x 13e00000.host1x: cdma_handle_timeout: timeout: 4 (isp) clientid 1"),
            "work sent to an engine did not finish, syncpoint 4 (isp) of 13e00000.host1x");
}

TEST(KernelLogHost1x, CutLines) { expect_filter_agrees_on_cut_lines("host1x.txt"); }

TEST(KernelLogHost1x, WhatACutLineLostIsAbsent) {
  const std::string head = "host1x 50000000.host1x: cdma_handle_timeout: timeout: ";
  EXPECT_EQ(decoded(head + "3"), "host1x_timeout dev=50000000.host1x\n");
  EXPECT_EQ(decoded(head + "31 (isp) clientid 1413"),
            "host1x_timeout dev=50000000.host1x syncpt=31 syncpt_name=isp\n");
  EXPECT_EQ(decoded("host1x 5.host1x: far-too-long-a-name: syncpoint id 7 (x) stuck waiting 1, "
                    "timeout=5"),
            "host1x_timeout dev=5.host1x text=syncpoint id 7 (x) stuck waiting 1, timeout=5\n");
}

}  // namespace
}  // namespace jetmem::kernel_log
