// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(Cma, LargestRunOfSeveralRanges) {
  constexpr std::string_view kHead =
      "cma: __cma_alloc: a: alloc failed, req-size: 9 pages, ret: -12\n"
      "cma: number of available pages: \n";
  constexpr std::string_view kTail = "cma: \ncma: => 40 free of 81 total pages";
  const std::string fields =
      "cma_alloc_failure area=a pages=9 ret=-12 errno=ENOMEM free=40 total=81";
  const auto of = [&](const std::string& ranges) {
    return one(std::string(kHead) + ranges + std::string(kTail));
  };
  EXPECT_EQ(of("cma: range 0: 5@11+20@100\ncma: range 1: +15@7\n"), fields + " largest=20");
  EXPECT_EQ(of("cma: range 0: 5@11\ncma: range 1: \ncma: range 2: +35@7\n"),
            fields + " largest=35");
  // One that was lost, or cut, leaves the longest unknown.
  EXPECT_EQ(of("cma: range 0: 5@11+20@100\n"), fields);
  std::string cut = "cma: range 0: 1@0";
  for (int i = 2; i < 400; i += 2) cut += "+1@" + std::to_string(i);
  EXPECT_EQ(of(cut + "\n"), fields);
  EXPECT_EQ(one("cma: range 0: 5@11+20@100"), "");
}

TEST(KernelLogAllocation, WhatIsNoTasksNameIsNoEvent) {
  EXPECT_EQ(
      decoded("usb 1-1: Product: a: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL)\n"
              "Tasks in /u: page allocation failure: order:9, mode:0x1 are going\n"
              "input: x: page allocation stalls for 9ms, order:2, mode:0x1(A) as /devices/x\n"
              "systemd[1]: a.service: vmalloc error: size 4096, page order 0, failed\n"
              "[1] a: vmalloc: allocation failure: 4096 bytes\n"),
      "");
}

}  // namespace
}  // namespace jetmem::kernel_log
