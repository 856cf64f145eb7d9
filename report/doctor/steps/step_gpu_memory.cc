// SPDX-License-Identifier: Apache-2.0
// Memory of GPU, cameras and codecs: nvmap, NVML, DMA-BUF, and buffers without a client.
#include "base/text/text.h"
#include "report/answers/holder_names.h"
#include "report/answers/top_answer.h"
#include "report/diagnosis/known_issues.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

const std::initializer_list<std::string_view> kRefused{"nvmap",
                                                       "nvmap_carveout",
                                                       "nvbufsurface",
                                                       "gpu_alloc_failure",
                                                       "cuda_alloc_failure",
                                                       "program_alloc_failure"};
// Buffers without a client, as a share of the machine's memory.
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
                   " available: the page cache holds the rest. If a program reports that memory is "
                   "full: sudo jetmem make-room 1GiB (as much as it asks for) before it "
                   "starts (runbook gpu-free-hidden).");
  }
  if (facts.bytes_in_2m_blocks && *facts.bytes_in_2m_blocks < kHidden * *facts.free) {
    note(step, "Of " + bytes(*facts.free) + " free, " + bytes(*facts.bytes_in_2m_blocks) +
                   " lies in blocks of 2 MiB and more, which large GPU buffers need: sudo jetmem "
                   "compact.");
  }
}

// Part of what nvmap allocated, outside of MemTotal.
double in_carve_outs(const DeviceView& view) {
  double sum = 0;
  for (const Sample& heap : view.now.samples.family("jetmem_nvmap_carveout_bytes")) {
    sum += view.value("jetmem_nvmap_heap_bytes", {{"heap", heap.label("heap")}}).value_or(0);
  }
  return sum;
}

void note_allocatable(const DeviceView& view, Step& step) {
  const auto left = view.value("jetmem_nvmap_allocatable_bytes");
  if (!left) return;
  const auto infos = view.now.samples.family("jetmem_device_info");
  const std::string l4t = infos.empty() ? std::string() : printable(infos[0].label("l4t"), 40);
  std::string text = "nvmap reports " + bytes(*left) + " as allocatable";
  if (const auto pool = view.value("jetmem_nvmap_page_pool_bytes"); pool && *pool > 0) {
    text += ", and has " + bytes(*pool) + " more in its page pool";
  }
  switch (diagnosis::nvmap_limit(l4t)) {
    case diagnosis::NvmapLimit::kRefuses:
      text += "; L4T " + l4t +
              " may refuse requests near or above that, although reclaim could free enough memory";
      break;
    case diagnosis::NvmapLimit::kGrants:
      text += "; L4T " + l4t +
              " grants larger requests up to all RAM, and the OOM killer then ends processes: "
              "limit what GPU programs request";
      break;
    case diagnosis::NvmapLimit::kUnknown:
      text += "; whether this release refuses or grants larger requests is not known";
      break;
  }
  note(step, text + ".");
}

// Slower growth, in bytes a second, any program has: a MiB an hour.
constexpr double kLeastGrowth = (1 << 20) / 3600.0;

// A guess where it is not known who holds buffers without a client: who has the most descriptors of
// DMA-BUFs, and who grows most.
std::string suspects(const DeviceView& view) {
  const auto is_named = [](const Sample& each) {
    return each.value > 0 && each.label("command") != "other";
  };
  std::string out;
  const SourceNow* const dmabuf = view.now.source("dmabuf");
  const auto is_absent = [dmabuf](std::string_view why) {
    return dmabuf != nullptr && dmabuf->absent_count(why) > 0;
  };
  const bool is_in_part =
      is_absent("walk_cut") || is_absent("process_denied") || is_absent("processes_hidden");
  if (const Sample* most = largest(view, "jetmem_dmabuf_holder_descriptors", is_named)) {
    out = printable(most->label("command"), 64) + " (" + (is_in_part ? "at least " : "") +
          counted(most->value, "DMA-BUF descriptor", "DMA-BUF descriptors") +
          ", the most of all programs" +
          (is_in_part ? " examined)" : ")");
  }
  const auto is_growing = [](const Sample& each) {
    return each.value > kLeastGrowth && each.label("command") != "other";
  };
  if (const Sample* most =
          largest(view, "jetmem_process_group_trend_bytes_per_second", is_growing)) {
    out += (out.empty() ? "" : ", ") +
           holder_name(most->label("command"), most->label("unit"), most->label("container")) +
           " (grows by " + rate(most->value) + ", the most of all programs)";
  }
  return out;
}

// What no client of nvmap has, and who holds it.
void examine_clientless(const DeviceView& view, Step& step) {
  const TopAnswer::Clientless all = clientless_of(view.now.samples, 3);
  const double sum = all.bytes.value_or(0);
  if (sum <= 0) return;
  std::string text = "Buffers without an nvmap client: " + bytes(sum);
  std::string cause = "A program leaks buffers, often through DMA-BUF descriptors or mappings.";
  for (std::size_t i = 0; i < all.holders.size(); ++i) {
    const auto& holder = all.holders[i];
    text += (i == 0 ? "; held by descriptors or mappings of " : ", ") +
            printable(holder.process, 64) + " " + bytes(holder.bytes);
  }
  if (!all.orphaned) {
    text += "; whether processes have the rest open or mapped is not known";
    if (const std::string may = suspects(view); !may.empty()) {
      text += ". May be held by " + may;
      cause = "A program leaks buffers; it may be " + may + ".";
    }
  } else if (*all.orphaned > 0) {
    text +=
        "; orphaned (held by drivers, not by processes alone, or freed by a client that keeps a "
        "part): " +
        bytes(*all.orphaned);
  }
  note(step, text + ". A steady amount is normal with cameras.");
  const double machine = view.now.samples.meminfo("MemTotal").value_or(0);
  if (machine <= 0 || sum <= kManyOrphans * machine) return;
  const bool is_held = all.held.value_or(0) > sum / 2 && !all.holders.empty();
  if (is_held)
    cause = printable(all.holders[0].process, 64) +
            " holds descriptors or mappings of many buffers without an nvmap client.";
  found(step, Verdict::kWarning,
        bytes(sum) + " of GPU and camera buffers have no nvmap client (" + share(sum / machine) +
            " of the memory)" +
            (is_held ? "; " + printable(all.holders[0].process, 64) + " holds " +
                           bytes(all.holders[0].bytes)
                     : "") +
            ".",
        {cause,
         "Restart the holder, or the camera and codec services one by one, and watch: jetmem top "
         "--gpu",
         "nvmap-orphans-growing"});
}

}  // namespace

void examine_gpu_memory(const DeviceView& view, Step& step) {
  step.confirm = "jetmem top; sudo jetmem top --gpu";
  const Seeing nvmap = see(view, step, "nvmap");
  const Seeing nvml = see(view, step, "nvml");
  const Seeing dmabuf = see(view, step, "dmabuf");
  take_alerts(view, step,
              {"JetmemNvmapCap", "JetmemNvmapCarveoutFull", "JetmemNvmapCarveoutRefused",
               "JetmemNvmapOrphansGrowing", "JetmemGpuFreeHidden", "JetmemEmcSaturated",
               "JetmemBufferLeak"});
  std::string stands;
  const auto total = view.value("jetmem_nvmap_total_bytes");
  const auto used = view.now.samples.meminfo("NvMapMemUsed");
  if (total || used)
    stands = "GPU, cameras and codecs hold " + bytes(total ? *total : *used) + " (nvmap)";
  if (const double outside = total ? in_carve_outs(view) : 0; outside > 0) {
    stands += ", " + bytes(outside) + " of it in carve-outs outside MemTotal";
  }
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
  for (const Sample& ended : view.now.samples.family("jetmem_nvmap_ended_client_bytes")) {
    const std::string holder = printable(ended.label("holder"), 64);
    note(step, printable(ended.label("process"), 64) + " has ended, " +
                   (holder.empty() ? std::string("a process that inherited /dev/nvmap") : holder) +
                   (ended.label("certainty") == "certain" ? " holds its " : " may hold its ") +
                   bytes(ended.value) + ".");
  }
  note_allocatable(view, step);
  examine_clientless(view, step);
  for (const auto* fall : {&view.found.memory_then, &view.found.memory}) {
    if (!*fall) continue;
    for (const GrowthEntry& each : (*fall)->top_growth) {
      if (each.command.empty() && each.who.find("orphans") != std::string::npos)
        note(step, growth_sentence(each, view.today()) + ".");
    }
  }
  examine_failures(view, step, kRefused, "Failed GPU or camera allocations",
                   "GPU or camera allocations failed",
                   {view.is_jetson() ? "Memory was short or fragmented, or this L4T release limits "
                                       "a single request (see the step versions)."
                                     : "Memory was short or fragmented.",
                    "Free memory before loading the model; jetmem plan",
                    view.is_jetson() ? "nvmap-cap" : "memory-low"});
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
