// SPDX-License-Identifier: Apache-2.0
// Whether free memory has blocks large enough for drivers.
#include "report/diagnosis/machine_facts.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// The kernel's PAGE_ALLOC_COSTLY_ORDER, 3: above it, requests may fail.
constexpr double kCostlyPages = 8;
constexpr double kSmallestPage = 4096;

}  // namespace

void examine_fragmentation(const DeviceView& view, Step& step) {
  step.confirm = "jetmem fragmentation; cat /proc/buddyinfo";
  const Seeing buddyinfo = see(view, step, "buddyinfo");
  take_alerts(
      view, step,
      {"JetmemBuddyFragmented", "JetmemPageAllocationFailure", "JetmemDriverAllocationFailing"});
  const auto best = view.value("jetmem_buddy_best_outside_cma_bytes");
  const Sample* const largest = doctor::largest(view, "jetmem_buddy_largest_free_order");
  const auto evidence = view.value("jetmem_fragmentation_evidence");
  std::string stands;
  if (best) {
    stands = *best > 0 ? "The largest free block outside CMA is " + bytes(*best)
                       : "No block is free outside CMA";
    note(step, stands + ".");
  } else if (largest != nullptr) {
    stands = "The largest free block has 2^" + number(largest->value, 0) +
             " pages, CMA included: drivers may get less";
    note(step, stands + ".");
  }
  if (evidence && *evidence > 0) {
    note(step, "In the last 10 min " + counted(*evidence, "kind", "kinds") +
                   " of failure showed that large blocks are missing: failed compactions, stalls, "
                   "failed allocations.");
  }
  examine_failures(view, step, {"page_alloc_failure", "vmalloc_failure", "slab_alloc_failure"},
                   "Failed page allocations", "Page allocations failed",
                   {"Memory was short or fragmented at that moment.",
                    "Find the caller with jetmem events; if it is a driver in an interrupt, raise "
                    "vm.min_free_kbytes.",
                    "page-allocation-failure"});
  examine_events(view, step, {"page_alloc_failure", "vmalloc_failure", "slab_alloc_failure"});
  if (buddyinfo != Seeing::kSeen) {
    return unknown(view, step, "Fragmentation is", "buddyinfo");
  }
  const double page = diagnosis::facts_of(view.now).page_size.value_or(kSmallestPage);
  const bool is_small = best && *best < kCostlyPages * page;
  if (is_small && !view.is_judged_by("JetmemBuddyFragmented")) {
    found(step, Verdict::kWarning, stands + ": even small contiguous requests can fail.",
          {"Unmovable pages are spread over memory, or memory is nearly exhausted.",
           "sudo jetmem compact helps for a while; start programs with large buffers first after "
           "boot.",
           "buddy-fragmented"});
  }
  if (stands.empty()) {
    found(step, Verdict::kUnknown,
          "Fragmentation is unknown: no zone has a free block, or none was read.");
  }
  conclude(step, stands + ".");
}

}  // namespace jetmem::doctor
