// SPDX-License-Identifier: Apache-2.0
// How much memory is available, how long tasks stall for it, and when it runs out.
#include "base/text/text.h"
#include "report/diagnosis/conditions.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

// The thresholds of the shipped rules, for a reading without evaluated rules.
constexpr double kCritical = 0.05;
constexpr double kLow = 0.10;
constexpr double kStallWarning = 0.1;
constexpr double kStallCritical = 0.4;
constexpr double kSoon = 86400;

void check_pressure(const DeviceView& view, Step& step) {
  const auto full = view.value("jetmem_pressure_stall_ratio",
                               {{"resource", "memory"}, {"kind", "full"}, {"window", "60s"}});
  const auto some = view.value("jetmem_pressure_stall_ratio",
                               {{"resource", "memory"}, {"kind", "some"}, {"window", "60s"}});
  if (full && some) {
    note(step, "In the last minute some task stalled on memory for " + share(*some) +
                   " of the time, all tasks for " + share(*full) + ".");
    if (*full >= kStallWarning && !view.is_judged_by("JetmemMemoryStall")) {
      found(step, *full >= kStallCritical ? Verdict::kCritical : Verdict::kWarning,
            "All tasks were stalled on memory for " + share(*full) + " of the last minute.",
            {"Programs need more memory than there is: pages are swapped in and out.",
             "Find the largest program with jetmem top and stop it.", "memory-stall"});
    }
  } else if (const auto level = view.value("jetmem_memory_pressure_level")) {
    note(step, "Memory pressure is at level " + number(*level, 0) + " of 3.");
    if (*level >= 2 && !view.is_judged_by("JetmemMemoryStall")) {
      found(step, Verdict::kWarning, "Programs stall on memory.");
    }
  }
}

std::string group_of(const Sample& sample) {
  std::string name = printable(sample.label("unit"), 64);
  if (sample.label("container").empty()) return name;
  return name + (name.empty() ? "" : " ") + printable(sample.label("container"), 64);
}

// No limit holds for nvmap's memory, which is charged to no control group. Groups that are several
// (*) have the limit of one of them.
void check_uncharged(const DeviceView& view, Step& step) {
  if (!view.value("jetmem_nvmap_total_bytes")) return;
  for (const Sample& limit : view.now.samples.family("jetmem_cgroup_memory_limit_bytes")) {
    const std::string name = group_of(limit);
    if (name.find('*') != std::string::npos) continue;
    double held = 0;
    for (const Sample& each : view.now.samples.family("jetmem_process_group_gpu_bytes")) {
      const bool is_in = each.label("unit") == limit.label("unit") &&
                         each.label("container") == limit.label("container");
      if (is_in) held += each.value;
    }
    if (held <= limit.value) continue;
    note(step, name + " is limited to " + bytes(limit.value) + ", and holds " + bytes(held) +
                   " of GPU and camera memory: nvmap is charged to no control group, so the limit "
                   "does not hold for it.");
  }
}

// The service or container that is closest to its limit.
void check_cgroups(const DeviceView& view, Step& step) {
  const Sample* const closest = largest(view, "jetmem_cgroup_limit_used_ratio");
  if (closest == nullptr) return;
  const SampleSet::Match who{{"unit", closest->label("unit")},
                             {"container", closest->label("container")}};
  std::string text = group_of(*closest) + " uses " + share(closest->value) + " of its memory limit";
  if (const auto used = view.value("jetmem_cgroup_memory_bytes", who)) text += ", " + bytes(*used);
  if (const auto stall =
          view.value("jetmem_cgroup_stall_ratio", {{"unit", closest->label("unit")},
                                                   {"container", closest->label("container")},
                                                   {"kind", "some"}})) {
    text += ", and waited for memory for " + share(*stall) + " of the last minute";
  }
  note(step, text +
                 ": closest of all. GPU and camera memory (nvmap, DMA-BUFs) is charged to no "
                 "control group.");
}

void check_trend(const DeviceView& view, Step& step) {
  if (const auto left = view.value("jetmem_trend_exhaustion_seconds")) {
    std::string text = "Memory is shrinking; exhausted in " + about(*left);
    for (const Sample& each : view.now.samples.family("jetmem_trend_bytes_per_second")) {
      if (each.label("of") == "MemAvailable") text += " (" + rate(each.value) + ")";
    }
    note(step, text + ".");
    if (*left < kSoon && !view.is_judged_by("JetmemMemoryLeak")) {
      found(step, Verdict::kWarning, text + ".",
            {"A program leaks memory.",
             "Find the growing program with jetmem top --sort growth, and restart it.",
             "memory-leak"});
    }
  }
  const Sample* const most = largest(view, "jetmem_process_group_trend_bytes_per_second");
  if (most != nullptr && most->value * 3600 > 1 << 20) {
    note(step, printable(most->label("command"), 64) + " grows by " + rate(most->value) +
                   " over the last two hours.");
  }
}

}  // namespace

void examine_memory(const DeviceView& view, Step& step) {
  step.confirm = "jetmem top; grep -E 'MemAvailable|SwapFree' /proc/meminfo";
  examine_events(view, step);
  if (see(view, step, "meminfo") != Seeing::kSeen) {
    found(step, Verdict::kUnknown, "Available memory is unknown.");
    return;
  }
  take_alerts(view, step,
              {"JetmemMemoryExhausting", "JetmemMemoryStall", "JetmemMemoryLow", "JetmemMemoryLeak",
               "JetmemSwapThrash", "JetmemBelowWatermark", "JetmemCgroupNearLimit"});
  const auto total = view.now.samples.meminfo("MemTotal");
  const auto available = view.now.samples.meminfo("MemAvailable");
  if (!total || !available || *total <= 0) {
    found(step, Verdict::kUnknown, "The kernel does not report available memory.");
    return;
  }
  const double part = *available / *total;
  const std::string stands =
      bytes(*available) + " of " + bytes(*total) + " is available (" + share(part) + ")";
  std::string text = stands;
  if (const auto unused = view.now.samples.meminfo("MemFree"))
    text += ", " + bytes(*unused) + " unused";
  note(step, text + ".");
  if (const auto pool = view.value("jetmem_nvmap_page_pool_bytes"); pool && *pool > 0) {
    note(step, "nvmap's page pool has " + bytes(*pool) + " (" + share(*pool / *total) +
                   "), which are not in this: GPU and cameras use them first, and the kernel "
                   "reclaims them when memory runs short.");
  }
  const auto swap = view.now.samples.meminfo("SwapTotal");
  const auto swap_free = view.now.samples.meminfo("SwapFree");
  if (swap && swap_free) {
    note(step, *swap > 0
                   ? bytes(*swap - *swap_free) + " of " + bytes(*swap) + " swap is used."
                   : std::string("There is no swap: if memory runs out, programs are killed."));
  }
  if (part < kLow && !view.is_judged_by("JetmemMemoryLow")) {
    Advice advice{"Programs need more memory than the machine has, or one leaks.",
                  "Find the largest programs with jetmem top, and stop or restart one.",
                  "memory-low"};
    std::string kernel_objects;
    const auto slab = view.now.samples.meminfo("SUnreclaim");
    if (slab && *slab >= diagnosis::kMuchSlab * *total) {
      kernel_objects = "Objects of the kernel that it cannot reclaim (SUnreclaim) take " +
                       bytes(*slab) + " (" + share(*slab / *total) +
                       "): usually a driver or kernel leak.";
      advice.cause = kernel_objects;
      advice.remedy =
          "sudo slabtop -s c -o shows which objects. Restart to get the memory back, then update "
          "or unload the driver they belong to.";
    }
    found(step, part < kCritical ? Verdict::kCritical : Verdict::kWarning, "Only " + stands + ".",
          advice);
  }
  check_pressure(view, step);
  check_trend(view, step);
  check_cgroups(view, step);
  check_uncharged(view, step);
  if (view.found.memory && step.verdict >= Verdict::kWarning) {
    const std::string sentence =
        doctor::sentence(memory_sentence(*view.found.memory, view.today()));
    note(step, sentence, view.found.memory->available.from);
  }
  conclude(step, stands + ".");
}

}  // namespace jetmem::doctor
