// SPDX-License-Identifier: Apache-2.0
// Messages taken from drivers' sources, and incidents that people posted, with the kinds, fields
// and causes that each should yield. They are not ours to ship: JETMEM_CORPUS names the folder that
// has incidents.jsonl, JETMEM_FACTS the one with driver-formats.jsonl (by default its neighbour
// "facts"). The tests hold the shares that are recognised, and print what is missed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "collectors/kernel_log/decode/assembler.h"
#include "report/events/event_json.h"
#include "tests/report/diagnosis/causes_of_log.h"

namespace jetmem::diagnosis {
namespace {

using kernel_log::Event;
using nlohmann::json;
using Kinds = std::vector<std::string>;

// Nothing where there is no such file.
std::optional<std::vector<json>> rows_of(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  std::vector<json> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) rows.push_back(json::parse(line));
  }
  return rows;
}

std::filesystem::path corpus_folder() {
  const char* folder = std::getenv("JETMEM_CORPUS");
  return folder == nullptr ? "/nowhere" : folder;
}

kernel_log::Soc soc_of(const json& name) {
  return kernel_log::soc_named(name.is_string() ? name.get<std::string>() : "")
      .value_or(kernel_log::Soc::kUnknown);
}

std::vector<json> events_of(const std::string& text, kernel_log::Soc soc) {
  std::vector<json> got;
  kernel_log::TextLog log(soc, [&](const Event& event, std::string_view /*time*/) {
    got.push_back(json(event_json(event)));
  });
  log.feed(text);
  log.finish();
  return got;
}

// "a|b" as a list; what the incidents call NEW:name by the names that the kinds have.
Kinds kinds_of(const std::string& text) {
  static const std::map<std::string, Kinds> kNewNames{
      {"NEW:cma_reserve_failed", {"reserved_memory_failure"}},
      {"NEW:swiotlb_overflow", {"dma_map_failure"}},
      {"NEW:iommu_page_fault", {"smmu_context_fault"}},
      {"NEW:cuda_alloc_failed", {"cuda_alloc_failure"}},
      {"NEW:npu_alloc_failure", {"program_alloc_failure", "driver_alloc_failure"}},
      {"NEW:cbb_error", {"bus_error"}},
      {"NEW:serror", {"bus_error"}},
      // Hangs were errors before they had a kind.
      {"gpu_error", {"gpu_error", "gpu_hang"}}};
  Kinds kinds;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const auto known = kNewNames.find(name);
    const Kinds more = known == kNewNames.end() ? Kinds{name} : known->second;
    kinds.insert(kinds.end(), more.begin(), more.end());
    begin = end + 1;
  }
  return kinds;
}

bool is_one_of(const Kinds& kinds, const json& event) {
  return std::find(kinds.begin(), kinds.end(), event["kind"].get<std::string>()) != kinds.end();
}

// Equal, or the same number in two spellings ("0x402", "402").
bool same_value(const json& got, const json& expected) {
  if (got == expected) return true;
  if (!got.is_string() || !expected.is_string()) return false;
  const auto a = kernel_log::parse_hex(got.get<std::string>());
  return a && a == kernel_log::parse_hex(expected.get<std::string>());
}

struct Share {
  int hits = 0;
  int all = 0;
  bool count(bool hit) {
    ++all;
    hits += hit ? 1 : 0;
    return hit;
  }
  double percent() const { return all == 0 ? 0 : 100.0 * hits / all; }
};

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

TEST(Corpus, DriversMessagesYieldTheirKindsAndFields) {
  const char* folder = std::getenv("JETMEM_FACTS");
  const auto rows = rows_of(
      (folder == nullptr ? corpus_folder() / ".." / "facts" : std::filesystem::path(folder)) /
      "driver-formats.jsonl");
  if (!rows) GTEST_SKIP() << "SKIPPED: no driver-formats.jsonl";
  std::map<std::string, Share> kinds_of_importance;
  Share fields;
  for (const json& entry : *rows) {
    std::vector<json> got;
    kernel_log::Assembler assembler(soc_of(entry.value("soc", json())), [&](const Event& event) {
      got.push_back(json(event_json(event)));
    });
    kernel_log::LogLine line;
    for (const std::string text : entry["lines"]) {
      line.text = text;
      ++line.number;
      assembler.line(line);
    }
    assembler.flush();
    Kinds kinds = kinds_of(entry["kind"]);
    for (const json& kind : entry.value("also_right", json::array())) kinds.push_back(kind);
    const auto found = std::find_if(got.begin(), got.end(),
                                    [&](const json& event) { return is_one_of(kinds, event); });
    bool all_right =
        kinds_of_importance[entry["importance"].get<std::string>()].count(found != got.end());
    if (all_right && !entry["fields"].empty()) {
      for (const auto& [name, value] : entry["fields"].items()) {
        if (found->contains(name) && same_value((*found)[name], value)) continue;
        std::cout << "field " << name << "=" << value << " of\n";
        all_right = false;
      }
      fields.count(all_right);
    }
    if (all_right) continue;
    std::cout << "missed " << entry.dump() << "\n";
    for (const json& event : got) std::cout << "    got " << event.dump() << "\n";
  }
  std::cout << "A " << kinds_of_importance["A"].percent() << " %, B "
            << kinds_of_importance["B"].percent() << " %, fields " << fields.percent() << " %\n";
  EXPECT_GE(kinds_of_importance["A"].percent(), 97);
  EXPECT_GE(kinds_of_importance["B"].percent(), 80);
  EXPECT_GE(fields.percent(), 95);
}

TEST(Corpus, IncidentsYieldTheirKindsAndConfirmedCauses) {
  const auto rows = rows_of(corpus_folder() / "incidents.jsonl");
  if (!rows) GTEST_SKIP() << "SKIPPED: no incidents.jsonl";
  Share expected;
  std::size_t seen = 0;
  for (const json& incident : *rows) {
    const std::string id = incident["id"];
    const std::string text = incident["text"];
    const kernel_log::Soc soc = soc_of(incident["soc_arg"]);
    const std::vector<json> got = events_of(text, soc);
    for (const json& want : incident["expected"]) {
      const Kinds kinds = kinds_of(want["kind"]);
      if (expected.count(std::any_of(got.begin(), got.end(),
                                     [&](const json& event) { return is_one_of(kinds, event); }))) {
        continue;
      }
      std::cout << "missed " << want["kind"] << " in " << id << "\n";
      for (const json& event : got) std::cout << "    got " << event["kind"] << "\n";
    }
    const auto wanted = kCauses.find(id);
    if (wanted == kCauses.end()) continue;
    ++seen;
    std::vector<std::string> first;
    for (const Cause& each : causes_of_log(text, soc)) {
      if (first.size() < 3) first.push_back(each.id);
    }
    EXPECT_NE(std::find_first_of(first.begin(), first.end(), wanted->second.begin(),
                                 wanted->second.end()),
              first.end())
        << id << ": found " << json(first);
  }
  std::cout << "incidents " << expected.percent() << " %\n";
  EXPECT_GE(expected.percent(), 95);
  EXPECT_EQ(seen, kCauses.size());
}

}  // namespace
}  // namespace jetmem::diagnosis
