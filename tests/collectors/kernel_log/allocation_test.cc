// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(Allocation, PageFailure) {
  EXPECT_EQ(one("a:b (c): page allocation failure: order:4, mode:0xa20(GFP_ATOMIC), "
                "nodemask=(null),cpuset=/,mems_allowed=0"),
            "page_alloc_failure comm=a:b (c) order=4 mode=0xa20 nodemask=(null) atomic=true");
  EXPECT_EQ(one("ls: page allocation failure: order:0, mode:0x20"),
            "page_alloc_failure comm=ls order=0 mode=0x20 atomic=true");
  EXPECT_EQ(one("ls: page allocation failure. order:2, mode:0x4020"),
            "page_alloc_failure comm=ls order=2 mode=0x4020");
  EXPECT_EQ(one("ls: page allocation failure: order:x, mode:0x4020"), "");
  EXPECT_EQ(one("ls: page allocation failure"), "");
  EXPECT_EQ(one(": page allocation failure: order:2, mode:0x4020"), "");
}

TEST(Allocation, PageStall) {
  EXPECT_EQ(one("tar: page allocation stalls for 10500ms, order:1, mode:0x14(GFP_A), nodemask=0"),
            "page_alloc_stall comm=tar ms=10500 order=1 mode=0x14 nodemask=0");
}

TEST(Allocation, Slab) {
  EXPECT_EQ(
      one("SLUB: Unable to allocate memory on node -1, gfp=0x820(GFP_ATOMIC)\n"
          "  cache: a, b, object size: 512, buffer size: 640, default order: 2, min order: 0\n"
          "  node 0: slabs: 1, objs: 2, free: 0"),
      "slab_alloc_failure node=-1 gfp=0x820 cache=a, b object_size=512");
  EXPECT_EQ(one("SLUB: Unable to allocate memory on node 0 (gfp=0x20)"),
            "slab_alloc_failure node=0 gfp=0x20");
  EXPECT_EQ(one("SLUB: Unable to allocate memory on CPU 3 (of node 0) on node -1, gfp=0xcc0(A)"),
            "slab_alloc_failure cpu=3 node=-1 gfp=0xcc0");
  EXPECT_EQ(one("  cache: lonely, object size: 512, buffer size: 640"), "");
}

TEST(Allocation, Vmalloc) {
  EXPECT_EQ(one("vmap allocation for size 8192 failed: use vmalloc=<size> to increase size\n"
                "ls: vmalloc error: size 4096, vm_struct allocation failed, mode:0xcc0(A), "
                "nodemask=(null)"),
            "vmalloc_failure size=4096 comm=ls error=vm_struct allocation failed mode=0xcc0 "
            "nodemask=(null)");
  EXPECT_EQ(one("vmalloc_node_range for size 8192 failed: Address range restricted to 0x1 - 0x2"),
            "vmalloc_failure size=8192");
  EXPECT_EQ(one("ls: vmalloc size 8192 allocation failure: page order 0 allocation failed, "
                "mode:0xcc2(A)"),
            "vmalloc_failure comm=ls size=8192 error=page order 0 allocation failed mode=0xcc2");
  EXPECT_EQ(one("ls: vmalloc: allocation failure, allocated 4096 of 69632 bytes, mode:0x2(A)"),
            "vmalloc_failure comm=ls allocated=4096 size=69632 mode=0x2");
  EXPECT_EQ(one("vmalloc: allocation failure: 69632 bytes"), "vmalloc_failure size=69632");
}

TEST(Cma, Failure) {
  EXPECT_EQ(one("cma: cma_alloc: alloc failed, req-size: 40 pages, ret: -12\n"
                "cma: number of available pages: 5@11+20@100+3@40=> 28 free of 81 total pages"),
            "cma_alloc_failure area=null pages=40 ret=-12 errno=ENOMEM free=28 total=81 "
            "largest=20");
  EXPECT_EQ(one("cma: __cma_alloc: vpr,a: alloc failed, req-size: 40 pages, ret: -16\n"
                "cma: => 28 free of 81 total pages"),
            "cma_alloc_failure area=vpr,a pages=40 ret=-16 errno=EBUSY free=28 total=81");
  EXPECT_EQ(one(" [1:  a:b: 7] cma: cma_alloc: alloc failed, req-size: 4 pages, ret: -12\n"
                " [1:  a:b: 7] number of available pages: 3+9=>12 pages, total: 50 pages"),
            "cma_alloc_failure area=null pages=4 ret=-12 errno=ENOMEM free=12 total=50 largest=9");
}

TEST(Cma, AListThatWasCutTellsNoLargestRun) {
  EXPECT_EQ(one("cma: cma_alloc: alloc failed, req-size: 40 pages, ret: -12\n"
                "cma: number of available pages: 5@11+20@100+3\n"
                "+7@300=> 35 free of 81 total pages"),
            "cma_alloc_failure area=null pages=40 ret=-12 errno=ENOMEM free=35 total=81");
}

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

TEST(Cma, ErrorNumbersHaveTheirNames) {
  EXPECT_EQ(one("cma: cma_alloc: a: alloc failed, req-size: 4 pages, ret: -110"),
            "cma_alloc_failure area=a pages=4 ret=-110 errno=ETIMEDOUT");
  EXPECT_EQ(one("cma: cma_alloc: a: alloc failed, req-size: 4 pages, ret: -999"),
            "cma_alloc_failure area=a pages=4 ret=-999");
}

TEST(Cma, WhatIsNoShortage) {
  EXPECT_EQ(one("cma: cma_alloc: a: alloc failed, req-size: 40 pages, ret: -4"), "");
  EXPECT_EQ(one("cma: cma_alloc(cma (____ptrval____), count 12, align 2)"), "");
  EXPECT_EQ(one("cma: Reserved 64 MiB at 0x00000000f0000000"), "");
  EXPECT_EQ(one("cma: cma_alloc: a: alloc failed, req-size: many pages, ret: -12"), "");
  EXPECT_EQ(one("cma: => 28 free of 81 total pages"), "");
}

TEST(Cma, Busy) {
  EXPECT_EQ(one("alloc_contig_range: [8e400, 8e4ff) PFNs busy"),
            "cma_busy pfn_start=0x8e400 pfn_end=0x8e4ff");
  EXPECT_EQ(one("alloc_contig_range test_pages_isolated(8e400, 8e4ff) failed"),
            "cma_busy pfn_start=0x8e400 pfn_end=0x8e4ff");
}

// What was printed above it decides; by itself it says that a request failed and no more.
TEST(Allocation, PageFailureOfWhichTheBacktraceIsLeft) {
  const std::string frame = " warn_alloc from __alloc_pages+0xe9c/0xfe8";
  EXPECT_EQ(one(frame), "page_alloc_failure");
  EXPECT_EQ(one("ls: page allocation failure: order:2, mode:0x4020\n" + frame),
            "page_alloc_failure comm=ls order=2 mode=0x4020");
  EXPECT_EQ(
      one("ls: page allocation failure: order:2, mode:0x4020\n" + frame + "\nTotal swap = 5kB"),
      "page_alloc_failure comm=ls order=2 mode=0x4020 swap_total_kb=5");
  EXPECT_EQ(one(" warn_alloc from __vmalloc_node_range+0x100/0x200"), "");
}

TEST(DmaMemory, Dma) {
  EXPECT_EQ(one("vi 15a.vi: dma_alloc_coherent of size 8192 failed"),
            "dma_alloc_failure dev=15a.vi size=8192");
  EXPECT_EQ(one("vi 15a.vi: dma alloc of size 8192 failed"),
            "dma_alloc_failure dev=15a.vi size=8192");
  EXPECT_EQ(one("drm soc:gpu: [drm] *ERROR* failed to allocate buffer with size 4096"),
            "dma_alloc_failure dev=soc:gpu size=4096");
  EXPECT_EQ(one("a b.1: coherent allocation too big (requested 0x1000 mask 0xffffffff)"),
            "dma_alloc_failure dev=b.1 size=4096");
  EXPECT_EQ(one("DMA: failed to allocate 2 KiB GFP_DMA pool for atomic allocation"),
            "dma_alloc_failure size=2048");
  EXPECT_EQ(one("Failed to get suitable pool for 32.spi"), "dma_alloc_failure dev=32.spi");
  EXPECT_EQ(one("swiotlb: coherent allocation failed for device 1:0 size=64"),
            "dma_alloc_failure dev=1:0 size=64");
  EXPECT_EQ(one("DMA: preallocated 512 KiB GFP_KERNEL pool for atomic allocations"), "");
}

TEST(DmaMemory, Swiotlb) {
  EXPECT_EQ(one("a b.1: swiotlb buffer is full (sz: 64 bytes), total 32 (slots), used 7 (slots)"),
            "swiotlb_full dev=b.1 size=64 total=32 used=7");
  EXPECT_EQ(one("a b.1: swiotlb buffer is full (sz: 64 bytes)"), "swiotlb_full dev=b.1 size=64");
  EXPECT_EQ(one("DMA: Out of SW-IOMMU space for 64 bytes at device 1:0"),
            "swiotlb_full size=64 dev=1:0");
  EXPECT_EQ(one("PCI-DMA: Out of SW-IOMMU space for 64 bytes at device 1:0"),
            "swiotlb_full size=64 dev=1:0");
  EXPECT_EQ(one("a-dma fe1.dma: DMA: Out of SW-IOMMU space for 96 bytes"),
            "swiotlb_full dev=fe1.dma size=96");
  EXPECT_EQ(one("usb 1-1: Product: DMA: Out of SW-IOMMU space for 96 bytes"), "");
}

TEST(KernelLogAllocation, WhatIsNoTasksNameIsNoEvent) {
  EXPECT_EQ(
      decoded("usb 1-1: Product: a: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL)\n"
              "Tasks in /u: page allocation failure: order:9, mode:0x1 are going\n"
              "input: x: page allocation stalls for 9ms, order:2, mode:0x1(A)\n"
              "systemd[1]: a.service: vmalloc error: size 4096, page order 0, failed\n"
              "[1] a: vmalloc: allocation failure: 4096 bytes\n"),
      "");
}

TEST(KernelLogAllocation, WhatACutLineLostIsAbsent) {
  EXPECT_EQ(decoded("dd: page allocation stalls for 9ms, order:3, mode:0xcc"),
            "page_alloc_stall comm=dd ms=9 order=3\n");
  // A line that ends with the mask is an old kernel's whole one.
  EXPECT_EQ(decoded("dd: page allocation failure: order:3, mode:0x24082c0"),
            "page_alloc_failure comm=dd order=3 mode=0x24082c0\n");
  EXPECT_EQ(decoded("dd: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), "
                    "nodemask=(null),cpuset"),
            "page_alloc_failure comm=dd order=3 mode=0xcc0 nodemask=(null)\n");
  EXPECT_EQ(decoded("dd: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), "
                    "nodemask=0-1,cpuset=/,mems_allowed=0-1"),
            "page_alloc_failure comm=dd order=3 mode=0xcc0 nodemask=0-1\n");
}

TEST(KernelLogAllocation, DriversAreBelievedBehindOneHeadOnly) {
  for (const std::string_view text :
       {"dma_alloc_coherent of size 4096 failed", "failed to allocate buffer with size 4096",
        "swiotlb buffer is full (sz: 4096 bytes)",
        "coherent allocation too big (requested 0x1000 mask 0x1)"}) {
    for (const std::string_view quote :
         {"Product: ", "Manufacturer: ", "SerialNumber: ", "x: y_z: "}) {
      EXPECT_EQ(decoded("usb 1-1: " + std::string(quote) + std::string(text)), "") << text;
    }
    EXPECT_NE(decoded("some-isp 1.isp: " + std::string(text)), "") << text;
    EXPECT_NE(decoded("some-isp 1.isp: isp_init_dma: " + std::string(text)), "") << text;
    EXPECT_NE(decoded("some-drm 1.dc: [drm:a_b [c]] *ERROR* " + std::string(text)), "") << text;
  }
  EXPECT_EQ(decoded("some-isp 1.isp: dma_alloc_coherent of size 99999999999999999999 failed"),
            "dma_alloc_failure dev=1.isp\n");
}

TEST(KernelLogAllocation, CmaNumbersThatCannotBe) {
  EXPECT_EQ(decoded("cma: cma_alloc: a: alloc failed, req-size: 128 pages, ret: -1"),
            "cma_alloc_failure area=a pages=128\n");
  EXPECT_EQ(decoded("cma: cma_alloc: a: alloc failed, req-size: 18446744073709551615 pages, "
                    "ret: -12"),
            "cma_alloc_failure area=a ret=-12 errno=ENOMEM\n");
}

}  // namespace
}  // namespace jetmem::kernel_log
