// SPDX-License-Identifier: Apache-2.0
// Real logs, and the cause that must be found in each. They are not ours to ship: JETMEM_CORPUS
// names the folder that has them. With JETMEM_SHOW set, prints for each what `jetmem decode` says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectors/kernel_log/event/kinds.h"
#include "tests/report/diagnosis/causes_of_log.h"

namespace jetmem::diagnosis {
namespace {

using nlohmann::json;

// Of a log, the codes of which one must be among the first three: causes that have been confirmed.
const std::map<std::string, std::vector<std::string>> kCauses{
    {"pi3-fb-cma-harmless", {"cma-boot-fallback"}},
    {"pi3-vc4-bo-cma", {"bos-fill-cma"}},
    {"pi4-cma-75m-warn", {"cma-refused", "cma-too-small"}},
    {"android-rpi4-cma-node", {"cma-not-reserved"}},
    {"rk3566-npu-swiotlb", {"swiotlb-mapping-too-large"}},
    {"imx8m-coral-swiotlb-usb3", {"swiotlb-full"}},
    {"rtl8192ee-swiotlb-leak", {"swiotlb-exhausted"}},
    {"pi4-arm64-emmc2-swiotlb", {"swiotlb-full"}},
    {"pi4-sdhost-swiotlb-too-large", {"swiotlb-mapping-too-large"}},
    {"pi5-nouveau-swiotlb-overflow", {"pi5-nouveau-mask", "dma-mask-too-narrow"}},
    {"pinephone-csi-cma", {"cma-refused", "dma-no-contiguous"}},
    {"nvidia-open-848-relative-ts", {"gpu-system-memory"}},
    {"nvidia-open-892-gsp-resume", {"gpu-firmware-memory"}},
    {"xaviernx-pva-camera-timeouts", {"camera-no-frames"}},
    {"pi-kswapd0-order3-smsc", {"pages-atomic"}},
    {"pi4-v3d-mmu-harmless", {"v3d-read-ahead"}},
    {"pi4-v3d-hang-reset", {"gpu-hung"}},
    {"rk3399-vp8enc-iommu-fault", {"smmu-unmapped"}},
    {"nano2gb-nvbuf-utils", {"jetson-utils-nvmm", "nvbuf-stale-fd"}},
    {"amdgpu-navi-gfxhub-suppressed", {"gpu-bad-address"}},
    {"pi4-xrandr-cma-leak", {"bos-fill-cma"}},
    {"pi4-v3d-reset-hung-task", {"task-stuck-gpu"}},
    {"orin-nx-12b-nvmap-2mb-blocks", {"gpu-refused-though-free", "gpu-buffer-refused"}},
    {"orin-nano-myelin-36.5", {"tensorrt-workspace", "l4t-36-myelin-scratch"}},
    {"orin-nano-gemma-desktop", {"gpu-buffer-refused", "gpu-refused-though-free"}},
    {"orin-nano-r39-acr-bootstrap", {"gpu-firmware-mismatch"}},
    {"agx-orin-cbb-fuse-read", {"bus-access-refused"}},
    {"ingenic-t32-zram-oom", {"zram-no-room", "memory-exhausted"}},
    {"errol-ecc-ce", {"ecc-corrected"}},
    {"rk3588-rkllm-npu-3g", {"npu-buffer", "rknpu-before-0.9.7"}},
    {"java-oom-swap-unused", {"java-oom-4.8", "oom-swap-unused"}},
    {"pi4-brcmf-order-oom-panic", {"lowmem-short"}},
    {"cix-p1-smmuv3-storm", {"smmu-ats"}},
    {"nano-b01-serror-rcu", {"serror"}},
};

TEST(Incidents, TheConfirmedCauseIsAmongTheFirstThree) {
  const char* folder = std::getenv("JETMEM_CORPUS");
  if (folder == nullptr) GTEST_SKIP() << "SKIPPED: JETMEM_CORPUS does not name a corpus folder";
  std::ifstream in(std::string(folder) + "/incidents.jsonl");
  if (!in) GTEST_SKIP() << "SKIPPED: " << folder << " has no incidents.jsonl";
  std::size_t seen = 0;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    const std::string id = row["id"];
    const std::string soc = row["soc_arg"].is_string() ? row["soc_arg"].get<std::string>() : "";
    const std::vector<Cause> causes =
        causes_of_log(row["text"], kernel_log::soc_named(soc).value_or(kernel_log::Soc::kUnknown));
    std::string found;
    for (std::size_t i = 0; i < std::min<std::size_t>(causes.size(), 3); ++i) {
      found += causes[i].id + " ";
      if (std::getenv("JETMEM_SHOW") == nullptr) continue;
      std::printf("%s\n  %s: %s\n  -> %s\n", i == 0 ? id.c_str() : "", causes[i].id.c_str(),
                  causes[i].cause.c_str(), causes[i].remedy.c_str());
    }
    const auto wanted = kCauses.find(id);
    if (wanted == kCauses.end()) continue;
    ++seen;
    const bool is_there =
        std::any_of(wanted->second.begin(), wanted->second.end(), [&](const std::string& each) {
          return (" " + found).find(" " + each + " ") != std::string::npos;
        });
    EXPECT_TRUE(is_there) << id << ": found " << (found.empty() ? "nothing" : found);
  }
  EXPECT_EQ(seen, kCauses.size());
}

TEST(Incidents, OfDifferentThingsAreNotOne) {
  const auto killed = [](const std::string& at, const std::string& comm) {
    return "[" + at +
           "1] a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
           "oom_score_adj=0\n[" +
           at + "2] Out of memory: Killed process 43 (" + comm +
           ") total-vm:1000kB, anon-rss:400kB, file-rss:0kB, shmem-rss:0kB\n";
  };
  const auto kills = causes_of_log(killed("  100.00000", "detector") + killed("90100.00000", "b") +
                                   killed("90200.00000", "b"));
  ASSERT_EQ(kills.size(), 2U);
  EXPECT_NE(kills[0].cause.find("The kernel killed detector"), std::string::npos);
  EXPECT_EQ(kills[0].events, 2U);
  EXPECT_NE(kills[1].cause.find("The kernel killed b"), std::string::npos);
  EXPECT_EQ(kills[1].events, 4U);
  std::string many;
  for (int i = 0; i < 50; ++i) {
    many += killed("  1" + std::to_string(10 + i) + ".00000", "p" + std::to_string(i));
  }
  const auto most = causes_of_log(many + killed(" 900.00000", "p3"));
  ASSERT_EQ(most.size(), 8U);
  EXPECT_EQ(most[3].events, 4U) << "what has its own stays there";
  EXPECT_NE(most[7].cause.find("The kernel killed p7"), std::string::npos);
  EXPECT_EQ(most[7].events, 86U);

  const auto refused = causes_of_log(
      "[  1.000001] __vm_enough_memory: pid: 42, comm: a, no enough memory for the allocation\n"
      "[  2.000001] foo 1a00000.bar: failed to allocate memory\n");
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].id + " " + refused[1].id, "overcommit-limit driver-alloc-failure");

  const auto suppressed = causes_of_log(
      "[  1.000001] arm_smmu_context_fault: 41 callbacks suppressed\n"
      "[  2.000001] cma_alloc: 24 callbacks suppressed\n");
  ASSERT_EQ(suppressed.size(), 2U);
  for (const Cause& each : suppressed) {
    EXPECT_EQ(each.id, "messages-suppressed");
    EXPECT_EQ(each.runbook, kernel_log::info_of(*kernel_log::kind_named(each.about)).runbook);
  }
}

}  // namespace
}  // namespace jetmem::diagnosis
