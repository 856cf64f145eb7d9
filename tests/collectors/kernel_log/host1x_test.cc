// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogHost1x, Sentences) {
  EXPECT_EQ(sentence_of("host1x 13e00000.host1x: app: syncpoint id 4 (vic) stuck waiting 7, "
                        "timeout=100"),
            "an engine does not finish its work, for which a program waits (app), syncpoint 4 "
            "(\"vic\") of 13e00000.host1x");
  EXPECT_EQ(sentence_of("host1x 13e00000.host1x: cdma_handle_timeout: timeout: 4 (isp) clientid 1"),
            "work sent to an engine did not finish, syncpoint 4 (\"isp\") of 13e00000.host1x");
}

}  // namespace
}  // namespace jetmem::kernel_log
