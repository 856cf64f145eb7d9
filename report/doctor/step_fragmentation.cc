// Whether free memory lies in pieces large enough for what asks for it.
#include <cmath>

#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// What the kernel itself calls a costly order: above it, requests may fail. A driver's ring or
// table of 32 KiB is below.
constexpr double kCostlyOrder = 3;

}  // namespace

void examine_fragmentation(const Look& look, Step& step) {
  step.confirm = "jetmem fragmentation; cat /proc/buddyinfo";
  if (see(look, step, "buddyinfo") != Seeing::kSeen) {
    raise(step, Verdict::kUnknown);
    conclude(step, "Whether memory is fragmented cannot be told: " +
                       absent_text(look, "buddyinfo") + ".");
    return;
  }
  take_alerts(look, step, {"JetmemBuddyFragmented", "JetmemPageAllocationFailure"});
  const auto best = look.value("jetmem_buddy_best_order_outside_cma");
  const Sample* largest = nullptr;
  for (const Sample& each : look.now.samples.family("jetmem_buddy_largest_free_order")) {
    if (largest == nullptr || each.value > largest->value) largest = &each;
  }
  const auto evidence = look.value("jetmem_fragmentation_evidence");
  std::string stands;
  if (best) {
    stands = *best < 0 ? "No block is free outside CMA"
                       : "The largest free block outside CMA is of order " + number(*best, 0) +
                             " (of 2^" + number(*best, 0) + " pages)";
    note(step, stands + ".");
  } else if (largest != nullptr) {
    stands = "The largest free block is of order " + number(largest->value, 0) +
             ", CMA included: what a driver gets may be less";
    note(step, stands + ".");
  }
  if (evidence && *evidence > 0) {
    note(step, "Within ten minutes there were " + counted(*evidence, "kind", "kinds") +
                   " of evidence that large blocks were missing: failed compactions, stalls, "
                   "failed allocations.");
  }
  const auto failures =
      count_events(look, {"page_alloc_failure", "vmalloc_failure", "slab_alloc_failure"});
  if (failures.total > 0 || failures.recent > 0) {
    note(step, "Failed page allocations: " + counted_text(look, failures) + ".", failures.last);
    note_events(look, step, {"page_alloc_failure", "vmalloc_failure", "slab_alloc_failure"}, 2);
    if (failures.is_recent) {
      raise(step, Verdict::kWarning);
      conclude(step, "The kernel could not give pages that were asked for: " +
                         counted_text(look, failures) + ".");
      advise(step, "Memory was short or in pieces too small at that moment.",
             "See what the kernel printed (jetmem events); raise vm.min_free_kbytes where it is a "
             "driver in an interrupt.",
             "page-allocation-failure");
    }
  }
  if (best && *best < kCostlyOrder) {
    raise(step, Verdict::kWarning);
    conclude(step, stands + ": even small contiguous requests may fail.");
    advise(step, "Pages that cannot move are spread over memory, or memory is nearly used up.",
           "Start what needs large buffers first after a boot; sudo jetmem compact may help for a "
           "while.",
           "buddy-fragmented");
  }
  if (stands.empty()) {
    raise(step, Verdict::kUnknown);
    conclude(
        step,
        "Whether memory is fragmented cannot be told: no zone has a free block, or none was read.");
  }
  conclude(step, stands + ".");
}

}  // namespace jetmem::doctor
