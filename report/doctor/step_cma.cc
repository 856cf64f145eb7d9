// Contiguous memory: whether the next camera frame can be had, and what was refused already.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

constexpr double kNearlyTaken = 0.95;

std::string area_of(const Sample& sample) { return printable(sample.label("area"), 64); }

// Of what the list of events leaves out, the two kinds cannot be paired: the larger is certain.
Counted count_refusals(const Look& look) {
  Counted out = count_events(look, {"cma_alloc_failure", "dma_alloc_failure"});
  const auto is_refusal = [](const EventRecord& each, std::string_view kind) {
    return each.what == EventWhat::kKernel && each.origin != "probe" && each.kind == kind;
  };
  std::vector<const EventRecord*> recent;
  for (const Seen& each : look.found.events) recent.push_back(each.event);
  out.recent = static_cast<double>(refusals(recent));
  // Of this boot: what the counters count.
  std::vector<const EventRecord*> listed;
  for (const EventRecord& each : look.now.events) {
    const double at = each.wall ? seconds_of(*each.wall) : look.found.now;
    if (look.now.since_boot > 0 && at < look.found.now - look.now.since_boot - 1) continue;
    listed.push_back(&each);
  }
  std::array<double, 2> unlisted{};
  constexpr std::array<std::string_view, 2> kKinds{"cma_alloc_failure", "dma_alloc_failure"};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    unlisted[i] = count_events(look, {kKinds[i]}).total;
    for (const EventRecord* each : listed) {
      if (is_refusal(*each, kKinds[i])) unlisted[i] -= static_cast<double>(each->count);
    }
    unlisted[i] = std::max(0.0, unlisted[i]);
  }
  if (out.total > 0) {
    out.total = static_cast<double>(refusals(listed)) + std::max(unlisted[0], unlisted[1]);
    out.at_least = std::min(unlisted[0], unlisted[1]) > 0;
  }
  return out;
}

// True where the areas themselves could be looked at.
bool look_at_areas(const Look& look, Step& step) {
  const auto& samples = look.now.samples;
  bool any = false;
  for (const Sample& used : samples.family("jetmem_cma_used_ratio")) {
    any = true;
    const std::string area = area_of(used);
    const auto size = look.value("jetmem_cma_area_bytes", {{"area", used.label("area")}});
    const auto run =
        look.value("jetmem_cma_largest_free_run_bytes", {{"area", used.label("area")}});
    const auto fit = look.value("jetmem_cma_frame_fit_ratio", {{"area", used.label("area")}});
    std::string text = "Area " + area + ": drivers hold " + share(used.value);
    if (size) text += " of " + bytes(*size);
    if (run) text += ", the largest free run is " + bytes(*run);
    if (run && fit && *fit > 0) text += ", wanted in one piece is " + bytes(*run / *fit);
    note(step, text + ".");
    if (fit && *fit < 1) {
      raise(step, Verdict::kWarning);
      conclude(step, "The largest free run of CMA area " + area +
                         (run ? " is " + bytes(*run) + "," : "") + " " + share(*fit) +
                         " of what is wanted in one piece: it would be refused now.");
      advise(step, "Buffers of different sizes came and went, or pinned pages lie in between.",
             "Restart the camera service; a larger area takes cma= on the kernel's command line "
             "and a reboot.",
             "cma-fragmented");
    }
    if (used.value >= kNearlyTaken) {
      raise(step, Verdict::kCritical);
      conclude(step, "CMA area " + area + " is " + share(used.value) + " taken by drivers.");
      advise(
          step,
          "A pipeline that does not give buffers back, or an area too small for what runs at once.",
          "See who holds buffers (jetmem cma, jetmem top), restart that program; a larger area "
          "takes cma= and a reboot.",
          "cma-exhausted");
    }
  }
  return any;
}

}  // namespace

void examine_cma(const Look& look, Step& step) {
  step.confirm = "jetmem cma; grep Cma /proc/meminfo";
  take_alerts(look, step,
              {"JetmemDmaAllocationFailing", "JetmemCmaExhausted", "JetmemCmaFragmented",
               "JetmemCmaAllocationFailing", "JetmemCmaFreeLow"});
  const auto total = look.now.samples.meminfo("CmaTotal");
  const Seeing areas = see(look, step, "cma");
  const bool saw = areas == Seeing::kSeen && look_at_areas(look, step);
  if (look.found.cma && (look.found.cma->first_failure || look.found.cma->fell)) {
    const std::string text = doctor::sentence(cma_sentence(*look.found.cma, look.today()));
    note(step, text, look.found.cma->fell ? look.found.cma->fell : look.found.cma->first_failure);
  }
  const auto refused = count_refusals(look);
  if (refused.total > 0 || refused.recent > 0) {
    note(step, "Refused requests for contiguous memory: " + counted_text(look, refused) + ".",
         refused.last);
    if (const auto request = look.value("jetmem_cma_largest_request_bytes")) {
      note(step, "The largest that was refused since boot is " + bytes(*request) + ".");
    }
    note_events(look, step, {"dma_alloc_failure", "cma_alloc_failure"}, 2);
    if (refused.is_recent) {
      raise(step, Verdict::kWarning);
      conclude(step, "Contiguous memory was refused: " + counted_text(look, refused) + ".");
      advise(step,
             "The area was taken, in pieces too small, or had pinned pages of borrowers in it.",
             "Restart the program that holds most of it (jetmem cma); a larger area takes cma= and "
             "a reboot.",
             "cma-allocation-failing");
    }
  }
  if (saw) {
    conclude(step, "What is wanted in one piece can be had.");
    return;
  }
  if (total && *total == 0 && look.is_jetson()) {
    raise(step, Verdict::kWarning);
    conclude(step, "This Jetson has no contiguous memory: what needs it in one piece gets none.");
    note(step,
         "Cameras, codecs and GPU reach their buffers through the SMMU and need none; V4L2 drivers "
         "without an IOMMU do.");
    advise(
        step, "The kernel was started with cma=0, or its device tree has no area.",
        "Look at cat /proc/cmdline for cma=, and at the reserved-memory nodes of the device tree.",
        "cma-exhausted");
    return;
  }
  // Absent is only told of an area-less kernel where meminfo says so, too.
  if (areas == Seeing::kAbsent && (!total || *total == 0)) {
    if (see(look, step, "meminfo") == Seeing::kSeen) {
      conclude(step, "Does not apply: this kernel has no contiguous memory areas.");
      return;
    }
  }
  raise(step, Verdict::kUnknown);
  if (total) {
    const auto unused = look.now.samples.meminfo("CmaFree");
    std::string text = "CMA is " + bytes(*total) + " in all";
    if (unused)
      text += ", of which " + bytes(*unused) + " is free by the kernel's count, borrowers not";
    note(step, text + ".");
  }
  conclude(step, "What drivers hold of contiguous memory, and its largest piece, cannot be told: " +
                     absent_text(look, "cma") + ".");
}

}  // namespace jetmem::doctor
