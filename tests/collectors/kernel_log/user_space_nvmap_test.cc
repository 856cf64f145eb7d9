// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogUserSpaceNvmap, Allocations) {
  EXPECT_EQ(decoded("NvMapMemAllocInternalTagged: 1075072000 error 12"),
            "nvmap function=NvMapMemAllocInternalTagged tag=1075072000 errno=12 reason=shortage\n");
  EXPECT_EQ(decoded("gst: NvMapMemAllocInternalTagged: 99 error 12"),
            "nvmap function=NvMapMemAllocInternalTagged tag=99 errno=12 reason=shortage\n");
  EXPECT_EQ(decoded("NvMapMemAllocInternalTagged: error 12"),
            "nvmap function=NvMapMemAllocInternalTagged errno=12 reason=shortage\n");
  EXPECT_EQ(decoded("NvMapMemHandleAlloc: error 4"), "nvmap function=NvMapMemHandleAlloc code=4\n");
  EXPECT_EQ(decoded("NvMapMemHandleAlloc failed: error 5"),
            "nvmap function=NvMapMemHandleAlloc code=5\n");
}

TEST(KernelLogUserSpaceNvmap, Surfaces) {
  EXPECT_EQ(decoded("nvbufsurface: NvBufSurfaceMap: wrong plane"),
            "nvbufsurface function=NvBufSurfaceMap\n");
  EXPECT_EQ(decoded("0:00:01 nvbufsurface: Failed to create EGLImage."), "nvbufsurface \n");
  EXPECT_EQ(decoded("nvbuf_utils: dmabuf_fd 1021 mapped entry NOT found"),
            "nvbufsurface fd=1021\n");
  EXPECT_EQ(decoded("nvbuf_utils: dmabuf_fd 1292 mapped entry NOT found\n"
                    "nvbuf_utils: NvReleaseFd Failed... Exiting...\n"),
            "nvbufsurface fd=1292 function=NvReleaseFd\n");
  EXPECT_EQ(decoded("NvBufSurfaceFromFd Failed"), "nvbufsurface function=NvBufSurfaceFromFd\n");
  EXPECT_EQ(decoded("camera.cpp:760 NvBufSurfaceFromFd Failed."),
            "nvbufsurface function=NvBufSurfaceFromFd\n");
  EXPECT_EQ(decoded("NvBufferCreateEx: invalid size"), "nvbufsurface function=NvBufferCreateEx\n");
  EXPECT_EQ(decoded("NvEGLImageFromFd: Failed to make an image"),
            "nvbufsurface function=NvEGLImageFromFd\n");
}

// A program that may not open the device lacks no memory.
TEST(KernelLogUserSpaceNvmap, PermissionIsNoShortage) {
  EXPECT_EQ(decoded("NvRmMemInitNvmap failed with Permission denied\n"
                    "549: Memory Manager Not supported\n"
                    "****NvRmMemInit failed**** error type: 196626\n"
                    "*** NvRmMemInit failed NvRmMemConstructor\n"),
            "nvmap function=NvRmMemInitNvmap reason=permission code=196626\n");
  EXPECT_EQ(decoded("NvRmMemInitNvmap failed with No such file or directory"),
            "nvmap function=NvRmMemInitNvmap reason=missing\n");
  EXPECT_EQ(decoded("NvRmStream: Buffer allocation failed (err=6)"),
            "nvmap function=NvRmStream reason=shortage code=6\n");
}

TEST(KernelLogUserSpaceNvmap, BelievedOfProcessesOnly) {
  const std::string_view line = "NvMapMemHandleAlloc: error 4";
  EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kProcess).size(), 1U);
  EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kKernel).size(), 0U);
  EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kForeign).size(), 0U);
}

TEST(KernelLogUserSpaceNvmap, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("loaded libnvbufsurface: 1.0.0 failed\n"
                    "using NvBufSurface with 4 buffers\n"
                    "the word NvMapMemHandleAlloc in a sentence\n"
                    "NvMapMemAllocInternalTagged: many error 12\n"
                    "NvMapMemHandleAlloc: error handling\n"
                    "MyNvMapMemHandleAlloc: error 4\n"
                    "nvbufsurface: ready\n"
                    "NvBufSurfaceMap: done\n"),
            "");
}

TEST(KernelLogUserSpaceNvmap, Sentences) {
  EXPECT_EQ(sentence_of("NvMapMemAllocInternalTagged: 99 error 12"),
            "a program was refused a buffer by NvMap, errno 12 (out of memory), in "
            "NvMapMemAllocInternalTagged");
  EXPECT_EQ(sentence_of("nvbufsurface: NvBufSurfaceMap: wrong plane"),
            "a program could not use a multimedia buffer, in NvBufSurfaceMap");
}

TEST(KernelLogUserSpaceNvmap, CutLines) {
  expect_filter_agrees_on_cut_lines("user_space_nvmap.txt");
}

TEST(KernelLogUserSpaceNvmap, NotWhatTheKernelQuotes) {
  EXPECT_EQ(decoded("usb 1-1: Product: NvMapMemAllocInternalTagged: 1 error 12\n"
                    "usb 1-1: Manufacturer: nvbufsurface: NvBufSurfaceMap: wrong plane\n"),
            "");
  EXPECT_NE(decoded("argus-daemon[12]: NvMapMemAllocInternalTagged: 1 error 12"), "");
}

}  // namespace
}  // namespace jetmem::kernel_log
