// SPDX-License-Identifier: Apache-2.0
// What drivers say in their own words: by the words and who is named in front of them.
#include <gtest/gtest.h>

#include <string>

#include "collectors/kernel_log/text/driver_line.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

std::string kinds_in(std::string_view text) {
  std::string kinds;
  for (const Event& event : events_of(text)) {
    kinds.append(kinds.empty() ? "" : " ").append(info_of(event.kind()).name);
  }
  return kinds;
}

TEST(KernelLogDriverWords, WhatGoesOnBelowAFaultIsNoneByItself) {
  EXPECT_EQ(one("exception type 0xC1: TRANSLATION_FAULT\naccess type 0x2: READ\npid: 1693\n"), "");
  EXPECT_EQ(one("NVRM: Xid (PCI:0000:02:00): 31, Ch 00000010, engmask 00000101\npid: 7\n"),
            "gpu_mmu_fault pci=0000:02:00 text=Ch 00000010, engmask 00000101 xid=31");
}

TEST(KernelLogDriverWords, ADisplaysWaitIsNoHangOfTheGpu) {
  for (const std::string_view line :
       {"[drm:drm_atomic_helper_wait_for_dependencies [drm_kms_helper]] *ERROR* [CRTC:66:crtc-3] "
        "commit wait timed out",
        "[drm:intel_dp_link_train [i915]] *ERROR* Timed out during link training",
        "i915 0000:00:02.0: [drm] *ERROR* timed out: reset of [CONNECTOR:95:DP-1]",
        "i915 0000:00:02.0: [drm] *ERROR* failed to get EDID: timed out during read",
        "msm_dsi 5e94000.dsi: [drm:dsi_cmds2buf_tx [msm]] *ERROR* wait for video done timed out",
        "vc4-drm gpu: [drm] *ERROR* flip_done timed out in the queue"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
  EXPECT_EQ(kinds_in("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, timed out"),
            "gpu_hang");
}

TEST(KernelLogDriverWords, PartsAreFoundWhereverTheyStand) {
  const Words words("Failed to ALLOC \xe2\x80\x9cq\xe2\x80\x9d: -12");
  const std::string_view text = words.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (std::size_t n = 1; at + n <= text.size(); ++n) {
      EXPECT_TRUE(words.has(text.substr(at, n))) << text.substr(at, n);
    }
  }
  for (const std::string_view part : {"allocs", "fail to", "ed  to", "-13", "z"}) {
    EXPECT_FALSE(words.has(part)) << part;
  }
  EXPECT_TRUE(words.has_word("alloc"));
  EXPECT_FALSE(words.has_word("allo"));
}

TEST(KernelLogDriverWords, HowLongSomebodyWillWaitIsNoTimeout) {
  const struct {
    std::string_view line;
    std::string_view kind;
  } cases[] = {
      {"tegra-bpmp bpmp: enabled timeout = 3", ""},
      {"mmc0: f_max 3, f_min 1, max_busy_timeout 7", ""},
      {"tegra-video tegra-video: same zoom scale. skipped.", ""},
      {"nvme nvme0: qid 2: timeout draining sock wmem allocation expired", ""},
      {"nvgpu: 17000000.gpu  nvgpu_dbg_timeout:197  [ERR]  unrecognized dbg gpu timeout mode : 0x2",
       "gpu_error"},
      {"arm-pv: Failed to map stolen time data structure", ""},
      {"rk_iommu fdca4f00.iommu: FORCE_RESET command timed out", "smmu_error"},
  };
  for (const auto& each : cases) EXPECT_EQ(kinds_in(each.line), each.kind) << each.line;
}

}  // namespace
}  // namespace jetmem::kernel_log
