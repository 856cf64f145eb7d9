// SPDX-License-Identifier: Apache-2.0
// Contiguous memory: whether the next camera frame fits, and which allocations failed.
#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "report/answers/cma_answer.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

constexpr double kNearlyTaken = 0.95;
// What the device trees of all Jetson boards reserve at least, Nano to Thor.
constexpr double kLeastOfJetson = 256.0 * (1 << 20);

std::string area_of(const Sample& sample) { return printable(sample.label("area"), 64); }

constexpr std::array<std::string_view, 2> kRefusedDma{"cma_alloc_failure", "dma_alloc_failure"};

// One failure may log both kinds. Those not in the event list cannot be paired: count the larger.
Counted count_refusals(const DeviceView& view) {
  Counted out = count_events(view, kRefusedDma);
  const auto is_refusal = [](const EventRecord& each, std::string_view kind) {
    return each.what == EventWhat::kKernel && each.origin != "probe" && each.kind == kind;
  };
  std::vector<const EventRecord*> recent;
  for (const Seen& each : view.found.events) recent.push_back(each.event);
  out.recent = static_cast<double>(refusals(recent));
  // Of this boot: what the counters count.
  std::vector<const EventRecord*> listed;
  for (const EventRecord& each : view.now.events) {
    const double at = each.wall ? to_seconds(*each.wall) : view.found.now;
    if (view.now.since_boot > 0 && at < view.found.now - view.now.since_boot - 1) continue;
    listed.push_back(&each);
  }
  std::array<double, 2> unlisted{};
  for (std::size_t i = 0; i < kRefusedDma.size(); ++i) {
    unlisted[i] = count_events(view, {kRefusedDma[i]}).total;
    for (const EventRecord* each : listed) {
      if (is_refusal(*each, kRefusedDma[i])) unlisted[i] -= static_cast<double>(each->count);
    }
    unlisted[i] = std::max(0.0, unlisted[i]);
  }
  if (out.total > 0) {
    out.total = static_cast<double>(refusals(listed)) + std::max(unlisted[0], unlisted[1]);
    out.at_least = std::min(unlisted[0], unlisted[1]) > 0;
  }
  return out;
}

// "tegra-capture-vi was refused 33 MiB of DMA memory: 3 since boot, ..."
std::string failure_headline(const DeviceView& view, const Counted& refused) {
  std::string who = view.found.cma ? view.found.cma->device : std::string();
  // Of anyone.
  auto size = view.value("jetmem_cma_largest_request_bytes");
  if (!who.empty() && !view.found.cma->is_only_device) size.reset();
  return (who.empty() ? std::string("A driver") : who) + " was refused " +
         (size ? "up to " + bytes(*size) + " of " : "") +
         "DMA memory: " + counted_text(view, refused) + ".";
}

const CmaAnswer::Area* find_area(const CmaAnswer& answer, std::string_view name) {
  for (const CmaAnswer::Area& area : answer.areas) {
    if (area.name == printable(name, 64)) return &area;
  }
  return nullptr;
}

// Who took the area since when, and what splits what is left of it.
void note_owners(const DeviceView& view, Step& step, const CmaAnswer::Area& area) {
  const auto when = [&](const char* word, const std::optional<double>& seconds) {
    if (!seconds) return std::string();
    return view.now.wall ? word + moment(*view.now.wall - *seconds, view.now.wall)
                         : " " + span(*seconds) + " ago";
  };
  if (!area.owners.empty()) {
    const CmaAnswer::Area::Owner& most = area.owners.front();
    std::string text = owner_name(most) + " allocated " + bytes(most.bytes) + " of " + area.name +
                       " in " + counted(static_cast<double>(most.blocks), "block", "blocks") +
                       when(" since ", most.oldest_seconds);
    if (!most.function.empty()) text += ", through " + most.function;
    const std::string holders = holder_names(most);
    if (!holders.empty()) {
      text += "; " + holders + " may hold the buffers now (DMA-BUFs of the same sizes)";
    } else if (most.has_ended) {
      text += "; whoever holds the buffers now is another";
    }
    note(step, text + ".");
  }
  if (area.before_bytes.value_or(0) > 0) {
    note(step,
         bytes(*area.before_bytes) + " of " + area.name +
             " were allocated before jetmem looked, or are being allocated: by whom is unknown.");
  }
  if (area.splitter && area.map_largest_run_bytes) {
    const CmaAnswer::Area::Splitter& block = *area.splitter;
    note(step, "One block of " + bytes(block.bytes) +
                   " splits the largest free run: " + owner_name(area.owners[block.owner]) +
                   " allocated it" + when(" at ", block.age_seconds) + "; without it the run is " +
                   bytes(block.largest_run_without_bytes) + " instead of " +
                   bytes(*area.map_largest_run_bytes) + ".");
  }
}

bool is_about_room(std::string_view runbook) {
  return runbook == "cma-fragmented" || runbook == "cma-exhausted" ||
         runbook == "cma-allocation-failing" || runbook == "dma-allocation-failing";
}

// True where the areas themselves could be read. `advice`: a restart that makes room for the
// request.
bool check_areas(const DeviceView& view, Step& step, std::string& advice) {
  const CmaAnswer answer = cma_answer(view.now);
  const auto& samples = view.now.samples;
  bool any = false;
  for (const Sample& used : samples.family("jetmem_cma_used_ratio")) {
    any = true;
    const std::string area = area_of(used);
    const auto size = view.value("jetmem_cma_area_bytes", {{"area", used.label("area")}});
    const auto run =
        view.value("jetmem_cma_largest_free_run_bytes", {{"area", used.label("area")}});
    const auto fit = view.value("jetmem_cma_frame_fit_ratio", {{"area", used.label("area")}});
    std::string text = "Area " + area + ": drivers hold " + share(used.value);
    if (size) text += " of " + bytes(*size);
    if (run) text += ", the largest free block is " + bytes(*run);
    if (run && fit && *fit > 0) text += ", a request needs " + bytes(*run / *fit) + " in one block";
    note(step, text + ".");
    const CmaAnswer::Area* map = find_area(answer, used.label("area"));
    if (map != nullptr) note_owners(view, step, *map);
    const std::string restart =
        map != nullptr && run && fit && *fit > 0 ? restart_advice(*map, *run / *fit) : "";
    if (fit && *fit < 1 && advice.empty() && restart.ends_with("the request fits.")) {
      advice = restart;
    }
    if (fit && *fit < 1 && !view.is_judged_by("JetmemCmaFragmented")) {
      found(step, Verdict::kWarning,
            run ? "The largest free CMA block in " + area + " is " + bytes(*run) +
                      "; a frame, or the largest request that failed, needs " + bytes(*run / *fit) +
                      "."
                : "The largest free CMA block in " + area + " is " + share(*fit) +
                      " of what a frame, or the largest request that failed, needs.",
            {"The area is fragmented by buffers of different sizes or by pinned pages.",
             restart.empty() ? "Restart the camera service. For a larger area set cma= on the "
                               "kernel command line and reboot."
                             : restart,
             "cma-fragmented"});
    }
    if (used.value >= kNearlyTaken && !view.is_judged_by("JetmemCmaExhausted")) {
      found(
          step, Verdict::kCritical,
          "Drivers hold " + share(used.value) + " of CMA area " + area + ".",
          {"A pipeline leaks buffers, or the area is too small for the load.",
           "Find the holder with jetmem cma and jetmem top, and restart it. For a larger area set "
           "cma= on the kernel command line and reboot.",
           "cma-exhausted"});
    }
  }
  return any;
}

// Whether the kernel is one that ignores cma= where the device tree has a node linux,cma.
bool prefers_device_tree(const DeviceNow& now) {
  const auto infos = now.samples.family("jetmem_device_info");
  return !infos.empty() && infos[0].label("kernel").starts_with("4.9.");
}

}  // namespace

void examine_cma(const DeviceView& view, Step& step) {
  step.confirm = "jetmem cma; grep Cma /proc/meminfo";
  take_alerts(view, step,
              {"JetmemDmaAllocationFailing", "JetmemReservedMemoryFailed", "JetmemCmaExhausted",
               "JetmemCmaFragmented", "JetmemCmaAllocationFailing", "JetmemCmaFreeLow"});
  const auto total = view.now.samples.meminfo("CmaTotal");
  const Seeing areas = see(view, step, "cma");
  std::string advice;
  const bool saw = areas == Seeing::kSeen && check_areas(view, step, advice);
  if (total && *total > 0 && *total < kLeastOfJetson && view.is_jetson()) {
    note(step,
         "CmaTotal is " + bytes(*total) + ", below the " + bytes(kLeastOfJetson) +
             " that a Jetson's device tree reserves: cma= on the kernel command line replaced its "
             "node linux,cma, or the node was not used (runbook reserved-memory).");
  }
  if (const std::string unmet = unmet_request(view.now.samples); !unmet.empty()) {
    if (prefers_device_tree(view.now)) {
      note(step, "CMA: " + unmet +
                     ". A kernel 4.9 (L4T 32) takes the size from the device tree's node linux,cma "
                     "where there is one, and ignores cma= (runbook reserved-memory).");
    } else {
      found(
          step, Verdict::kWarning, "CMA: " + unmet + ".",
          {"Either no range of this size was free at boot where the kernel looked, or the kernel "
           "took the size from the device tree's node linux,cma and ignored cma=.",
           "sudo dmesg | grep -i cma shows which: choose a smaller cma= and reboot, or change the "
           "node.",
           "reserved-memory"});
    }
  }
  if (view.found.cma && (view.found.cma->first_failure || view.found.cma->fell)) {
    const std::string text = doctor::sentence(cma_sentence(*view.found.cma, view.today()));
    note(step, text, view.found.cma->fell ? view.found.cma->fell : view.found.cma->first_failure);
  }
  const auto refused = count_refusals(view);
  if (refused.total > 0 || refused.recent > 0) {
    note(step, "Failed CMA and DMA allocations: " + counted_text(view, refused) + ".",
         refused.last);
    if (const auto request = view.value("jetmem_cma_largest_request_bytes")) {
      note(step, "The largest that failed since boot is " + bytes(*request) + ".");
    }
    note_events(view, step, kRefusedDma, 2);
    if (refused.is_recent && !are_harmless(view, kRefusedDma)) {
      found_past(
          step, Verdict::kWarning, failure_headline(view, refused),
          {"The CMA area was full, fragmented, or blocked by pinned pages.",
           "Find the largest holder with jetmem cma and restart it. For a larger area set cma= on "
           "the kernel command line and reboot.",
           "cma-allocation-failing"});
    }
  }
  examine_events(view, step, {"cma_alloc_failure", "dma_alloc_failure"});
  // Better than the general one, where it is of the same matter.
  if (!advice.empty() && is_about_room(step.runbook)) {
    step.remedy = advice +
                  " jetmem cma shows all who allocated it. For a larger area set cma= on the "
                  "kernel command line and reboot.";
  }
  if (saw) {
    conclude(step, "The largest request fits.");
    return;
  }
  if (total && *total == 0 && view.is_jetson()) {
    found(step, Verdict::kWarning,
          "This Jetson has no CMA area: drivers that need contiguous memory fail.");
    note(step,
         "Cameras, codecs and the GPU use the SMMU and need no CMA; V4L2 drivers without an IOMMU "
         "do.");
    advise(step, "The kernel runs with cma=0, or its device tree has no CMA area.",
           "grep -o 'cma=[^ ]*' /proc/cmdline; ls /proc/device-tree/reserved-memory",
           "cma-exhausted");
    return;
  }
  // The areas may only be hidden: meminfo must confirm that there are none.
  if (areas == Seeing::kAbsent && (!total || *total == 0)) {
    if (see(view, step, "meminfo") == Seeing::kSeen) {
      conclude(step, "Not applicable: this kernel has no CMA area.");
      return;
    }
  }
  raise(step, Verdict::kUnknown);
  if (total) {
    const auto unused = view.now.samples.meminfo("CmaFree");
    std::string text = "CMA has " + bytes(*total) + " in total";
    if (unused)
      text += ", " + bytes(*unused) + " of it free (CmaFree, without pages lent to programs)";
    note(step, text + ".");
  }
  conclude(step,
           "CMA usage and its largest free block are unknown: " + absent_text(view, "cma") + ".");
}

}  // namespace jetmem::doctor
