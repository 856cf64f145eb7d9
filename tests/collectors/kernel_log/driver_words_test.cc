// SPDX-License-Identifier: Apache-2.0
// What drivers say in their own words: by the words and who is named in front of them.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <optional>
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

TEST(KernelLogDriverWords, WhoeverWaitsForThePowerProcessor) {
  EXPECT_EQ(kinds_in("tegra-mc 2c00000.memory-controller: BPMP transfer failed: -110"),
            "firmware_hang");
  EXPECT_EQ(kinds_in("tegra-mc 2c00000.memory-controller: BPMP transfer failed: -22"), "");
}

TEST(KernelLogDriverWords, HarmlessEventsSaySo) {
  const auto fault =
      events_of("v3d fec00000.v3d: MMU error from client CLE (4) at 0x1, pte invalid");
  ASSERT_EQ(fault.size(), 1U);
  EXPECT_EQ(fault[0].boolean("harmless"), true);
  const auto frame = events_of(
      "cma: cma_alloc: alloc failed, req-size: 2025 pages, ret: -12\n"
      "Console: switching to colour frame buffer device 240x67\n");
  ASSERT_EQ(frame.size(), 1U);
  EXPECT_EQ(frame[0].boolean("harmless"), true);
}

// The one event of a line; none of it where there are none or several.
Event event_in(std::string_view text) {
  const auto events = events_of(text, Soc::kUnknown, Voice::kKernel);
  EXPECT_EQ(events.size(), 1U) << text;
  return events.size() == 1 ? events[0] : Event();
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

TEST(KernelLogDriverWords, ReservationsOfTheDeviceTree) {
  for (const std::string_view head : {"OF: fdt: ", "OF: fdt:"}) {
    const Event event = event_in(std::string(head) +
                                 "Reserved memory: failed to reserve memory for node 'vpr': base "
                                 "0x0000000080000000, size 16 MiB");
    EXPECT_EQ(event.kind(), EventKind::kReservedMemoryFailure);
    EXPECT_EQ(event.text("node"), "vpr");
    EXPECT_EQ(event.number("size"), 16 << 20);
  }
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

// What kind the words make of a line, none for "".
struct Kind {
  std::string_view line;
  std::string_view kind;
};

void expect_kinds(std::initializer_list<Kind> cases) {
  for (const Kind& entry : cases) EXPECT_EQ(kinds_in(entry.line), entry.kind) << entry.line;
}

TEST(KernelLogDriverWords, HowLongSomebodyWillWaitIsNoTimeout) {
  expect_kinds({
      {"tegra-bpmp bpmp: enabled timeout = 3", ""},
      {"NVRM: krcInit_IMPL: RC Watchdog timeout forced to 7 seconds.", ""},
      {"nvme nvme0: Shutdown timeout set to 8 seconds", ""},
      {"mmc0: f_max 3, f_min 1, max_busy_timeout 7", ""},
      {"tegra-video tegra-video: same zoom scale. skipped.", ""},
      {"lima 1c40000.gpu: gp spurious timeout", ""},
      {"bpmp_trywait() timed out (ch 2 mrq 7 data <0>)", "firmware_hang"},
      {"pva 16000000.pva0: mbox timedout boot sema=8", "firmware_hang"},
      {"nvme nvme0: I/O tag 1 (0402) opcode 0x2 (Read) QID 7 timeout", "storage_error"},
      {"nvme nvme0: Device not ready; aborting reset, CSTS=0x1", "storage_error"},
      {"nvme nvme0: Fw activation timeout, reset controller", ""},
      {"nvme nvme0: qid 2: timeout draining sock wmem allocation expired", ""},
      {"nvgpu: 17000000.gpu  nvgpu_dbg_timeout:197  [ERR]  unrecognized dbg gpu timeout mode : 0x2",
       "gpu_error"},
      {"arm-pv: Failed to map stolen time data structure", ""},
      {"nvme nvme0: Failed to map data (-12)", "dma_map_failure"},
      {"mmc0: Card stuck being busy! __mmc_poll_for_busy", "storage_error"},
  });
}

TEST(KernelLogDriverWords, IommusOfOtherMakers) {
  expect_kinds({
      {"rk_iommu fdca4f00.iommu: FORCE_RESET command timed out", "smmu_error"},
      {"rk_iommu fdca4f00.iommu: DMA mapping error while allocating page table", "dma_map_failure"},
      {"rk_iommu fdca4f00.iommu: DMA map error for DT", "dma_map_failure"},
      {"virtio_iommu virtio0: translation fault from EP 7 at 0x1000 [R--]", "smmu_context_fault"},
  });
}

}  // namespace
}  // namespace jetmem::kernel_log
