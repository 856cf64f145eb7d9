// SPDX-License-Identifier: Apache-2.0
// Memory of GPU, cameras and codecs: nvmap, NVML, DMA-BUF, and buffers without an owner.
#include <cmath>

#include "base/text/text.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

const std::initializer_list<std::string_view> kRefused{
    "nvmap", "nvbufsurface", "gpu_alloc_failure", "cuda_alloc_failure", "program_alloc_failure"};
// Buffers without an owner, as a share of the machine's memory.
constexpr double kManyOrphans = 0.1;
// Available memory of which less than this part is free, as CUDA counts it.
constexpr double kHidden = 0.5;

// What a program that sizes itself by cudaMemGetInfo does not see, and what nvmap's large buffers
// do not find: normal, and the answer where a program says that memory is full.
void note_hidden(const DeviceView& view, Step& step) {
  const diagnosis::MachineFacts facts = diagnosis::facts_of(view.now);
  const bool shares = view.is_jetson() || view.value("jetmem_gpu_free_hidden_ratio");
  if (!shares || !facts.free || !facts.available) return;
  if (*facts.free < kHidden * *facts.available) {
    note(step, "CUDA sees " + bytes(*facts.free) + " of the " + bytes(*facts.available) +
                   " available: the page cache holds the rest. If a program says that memory is "
                   "full: sync; echo 3 | sudo tee /proc/sys/vm/drop_caches before it starts "
                   "(runbook gpu-free-hidden).");
  }
  if (facts.bytes_in_2m_blocks && *facts.bytes_in_2m_blocks < kHidden * *facts.free) {
    note(step, "Of " + bytes(*facts.free) + " free, " + bytes(*facts.bytes_in_2m_blocks) +
                   " lies in blocks of 2 MiB and more, which large GPU buffers need: sudo jetmem "
                   "compact.");
  }
}

}  // namespace

void examine_gpu_memory(const DeviceView& view, Step& step) {
  step.confirm = "jetmem top; sudo jetmem nvmap";
  const Seeing nvmap = see(view, step, "nvmap");
  const Seeing nvml = see(view, step, "nvml");
  const Seeing dmabuf = see(view, step, "dmabuf");
  take_alerts(view, step,
              {"JetmemNvmapCap", "JetmemNvmapOrphansGrowing", "JetmemGpuFreeHidden",
               "JetmemEmcSaturated", "JetmemBufferLeak"});
  std::string stands;
  const auto total = view.value("jetmem_nvmap_total_bytes");
  const auto used = view.now.samples.meminfo("NvMapMemUsed");
  if (total || used)
    stands = "GPU, cameras and codecs hold " + bytes(total ? *total : *used) + " (nvmap)";
  for (const Sample& each : view.now.samples.family("jetmem_nvml_process_memory_bytes")) {
    stands += (stands.empty() ? "Processes hold " : "; processes hold ") + bytes(each.value) +
              " of GPU " + printable(each.label("gpu"), 40);
  }
  if (!stands.empty()) note(step, stands + ".");
  const Sample* const most = largest(view, "jetmem_nvmap_process_bytes", [](const Sample& each) {
    return each.label("process") != "other";
  });
  if (most != nullptr)
    note(step, "Largest holder: " + printable(most->label("process"), 64) + ", " +
                   bytes(most->value) + " in heap " + printable(most->label("heap"), 40) + ".");
  if (const auto left = view.value("jetmem_nvmap_allocatable_bytes")) {
    note(step, "nvmap can still allocate " + bytes(*left) + ".");
  }
  const double orphans = view.now.samples.sum("jetmem_nvmap_orphan_bytes").value_or(0);
  const double machine = view.now.samples.meminfo("MemTotal").value_or(0);
  if (orphans > 0) {
    note(step, "Buffers without an owner: " + bytes(orphans) +
                   "; a steady amount is normal with cameras.");
    if (machine > 0 && orphans > kManyOrphans * machine) {
      found(step, Verdict::kWarning,
            bytes(orphans) + " of GPU and camera buffers have no owner (" +
                share(orphans / machine) + " of the memory).",
            {"A program leaks buffers, often through DMA-BUF descriptors or mappings.",
             "Restart the camera and codec services one by one and watch: jetmem nvmap",
             "nvmap-orphans-growing"});
    }
  }
  for (const auto* fall : {&view.found.memory_then, &view.found.memory}) {
    if (!*fall) continue;
    for (const GrowthEntry& each : (*fall)->top_growth) {
      if (each.command.empty() && each.who.find("orphans") != std::string::npos)
        note(step, growth_sentence(each, view.today()) + ".");
    }
  }
  if (const auto buffers = view.value("jetmem_dmabuf_bytes", {{"origin", "system"}}))
    note(step, "DMA-BUFs take " + bytes(*buffers) + ".");
  examine_failures(view, step, kRefused, "Failed GPU or camera allocations",
                   "GPU or camera allocations failed",
                   {"Memory was short or fragmented, or this L4T release limits a single request "
                    "(see the step versions).",
                    "Free memory before loading the model; jetmem plan", "nvmap-cap"});
  examine_events(view, step, kRefused);
  note_hidden(view, step);
  if (!stands.empty() || nvmap == Seeing::kSeen || nvml == Seeing::kSeen) {
    if (nvmap == Seeing::kBlind) {
      conclude(step, (stands.empty() ? std::string() : stands + ", but ") +
                         "its owner is unknown: " + absent_text(view, "nvmap") + ".");
    }
    conclude(step, stands.empty() ? "The driver holds nothing." : stands + ".");
    return;
  }
  if (nvmap == Seeing::kAbsent && nvml == Seeing::kAbsent) {
    if (dmabuf == Seeing::kBlind && !view.is_jetson()) {
      // Without NVIDIA's drivers, DMA-BUFs are not this step's concern.
      if (step.verdict == Verdict::kUnknown) step.verdict = Verdict::kOk;
    }
    if (!view.is_jetson()) {
      conclude(step, "Not applicable: this machine has neither nvmap nor a GPU that NVML lists.");
      return;
    }
  }
  unknown(view, step, "GPU and camera memory is", nvmap == Seeing::kBlind ? "nvmap" : "nvml");
}

}  // namespace jetmem::doctor
