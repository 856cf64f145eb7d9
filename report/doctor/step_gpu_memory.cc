// Memory of GPU, cameras and codecs: nvmap, NVML, DMA-BUF, and what nobody holds any more.
#include <cmath>

#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

const std::initializer_list<std::string_view> kRefused{"nvmap", "nvbufsurface",
                                                       "gpu_alloc_failure"};
// Buffers without an owner: of so much of the machine a person would want to know.
constexpr double kManyOrphans = 0.1;

}  // namespace

void examine_gpu_memory(const Look& look, Step& step) {
  step.confirm = "jetmem top; sudo jetmem nvmap";
  const Seeing nvmap = see(look, step, "nvmap");
  const Seeing nvml = see(look, step, "nvml");
  const Seeing dmabuf = see(look, step, "dmabuf");
  take_alerts(
      look, step,
      {"JetmemNvmapCap", "JetmemNvmapOrphansGrowing", "JetmemGpuFreeHidden", "JetmemEmcSaturated"});
  std::string stands;
  const auto total = look.value("jetmem_nvmap_total_bytes");
  const auto used = look.now.samples.meminfo("NvMapMemUsed");
  if (total || used)
    stands = "GPU, cameras and codecs hold " + bytes(total ? *total : *used) + " (nvmap)";
  for (const Sample& each : look.now.samples.family("jetmem_nvml_process_memory_bytes")) {
    stands += (stands.empty() ? "Processes hold " : "; processes hold ") + bytes(each.value) +
              " of GPU " + printable(each.label("gpu"), 40);
  }
  if (!stands.empty()) note(step, stands + ".");
  const Sample* most = nullptr;
  for (const Sample& each : look.now.samples.family("jetmem_nvmap_process_bytes")) {
    if (each.label("process") == "other") continue;
    if (most == nullptr || each.value > most->value) most = &each;
  }
  if (most != nullptr)
    note(step, "Most has " + printable(most->label("process"), 64) + ", " + bytes(most->value) +
                   " in heap " + printable(most->label("heap"), 40) + ".");
  if (const auto left = look.value("jetmem_nvmap_allocatable_bytes")) {
    note(step, "nvmap would still hand out " + bytes(*left) + ".");
  }
  double orphans = 0;
  for (const Sample& each : look.now.samples.family("jetmem_nvmap_orphan_bytes"))
    orphans += each.value;
  const double machine = look.now.samples.meminfo("MemTotal").value_or(0);
  if (orphans > 0) {
    note(step, "Buffers that no program holds any more: " + bytes(orphans) +
                   "; a steady amount is normal with cameras.");
    if (machine > 0 && orphans > kManyOrphans * machine) {
      raise(step, Verdict::kWarning);
      conclude(step, bytes(orphans) + " of GPU and camera buffers belong to no program any more (" +
                         share(orphans / machine) + " of the memory).");
      advise(step,
             "A program passes buffers on and never lets go of them, often through DMA-BUF "
             "descriptors or mappings.",
             "Restart the camera and codec services one by one and see which gives them back.",
             "nvmap-orphans-growing");
    }
  }
  for (const auto* fall : {&look.found.memory_then, &look.found.memory}) {
    if (!*fall) continue;
    for (const Grower& each : (*fall)->growers) {
      if (each.command.empty() && each.who.find("orphans") != std::string::npos)
        note(step, grew(each, look.today()) + ".");
    }
  }
  if (const auto buffers = look.value("jetmem_dmabuf_bytes", {{"origin", "system"}}))
    note(step, "DMA-BUFs take " + bytes(*buffers) + ".");
  const Counted refused = count_events(look, kRefused);
  if (refused.total > 0 || refused.recent > 0) {
    note(step, "Refused GPU or camera buffers: " + counted_text(look, refused) + ".", refused.last);
    note_events(look, step, kRefused, 2);
    if (refused.is_recent) {
      raise(step, Verdict::kWarning);
      conclude(step, "GPU or camera buffers were refused: " + counted_text(look, refused) + ".");
      advise(step,
             "Memory was short, or in pieces too small, or the release limits what one request "
             "gets (see the step versions).",
             "Free memory before the model is loaded; see jetmem plan.", "nvmap-cap");
    }
  }
  if (!stands.empty() || nvmap == Seeing::kSeen || nvml == Seeing::kSeen) {
    if (nvmap == Seeing::kBlind) {
      conclude(step, (stands.empty() ? std::string() : stands + ", but ") +
                         "whose it is cannot be told: " + absent_text(look, "nvmap") + ".");
    }
    conclude(step, stands.empty() ? "The driver holds nothing." : stands + ".");
    return;
  }
  if (nvmap == Seeing::kAbsent && nvml == Seeing::kAbsent) {
    if (dmabuf == Seeing::kBlind && !look.is_jetson()) {
      // Nothing of NVIDIA's is there; what others have in DMA-BUFs is not this step's matter.
      if (step.verdict == Verdict::kUnknown) step.verdict = Verdict::kFine;
    }
    if (!look.is_jetson()) {
      conclude(step, "Does not apply: this machine has no nvmap, and no GPU that NVML lists.");
      return;
    }
  }
  raise(step, Verdict::kUnknown);
  conclude(step, "What GPU and cameras hold cannot be told: " +
                     absent_text(look, nvmap == Seeing::kBlind ? "nvmap" : "nvml") + ".");
}

}  // namespace jetmem::doctor
