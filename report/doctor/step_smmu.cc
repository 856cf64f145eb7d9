// Devices that accessed memory which they must not: SMMU faults and the memory controller's.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

const std::initializer_list<std::string_view> kFaults{
    "smmu_context_fault", "smmu_global_fault", "smmu_v3_event", "smmu_error", "gpu_mmu_fault"};
// Mostly the second half of an SMMU fault: counted apart, or one access would be told as two.
const std::initializer_list<std::string_view> kController{"mc_error"};
const std::initializer_list<std::string_view> kAll{"smmu_context_fault", "smmu_global_fault",
                                                   "smmu_v3_event",      "smmu_error",
                                                   "gpu_mmu_fault",      "mc_error"};

Counted count_faults(const Look& look) {
  Counted out = count_events(look, kFaults);
  // Since boot is what the counters have, held back messages included; of the last day it is the
  // log alone.
  for (const Sample& each : look.now.samples.family("jetmem_kernel_events_suppressed_total")) {
    if (each.value > 0 &&
        std::find(kFaults.begin(), kFaults.end(), each.label("kind")) != kFaults.end()) {
      out.at_least = out.total <= 0;
    }
  }
  return out;
}

}  // namespace

void examine_smmu(const Look& look, Step& step) {
  step.confirm = "jetmem faults; sudo dmesg | grep -iE 'smmu|mc-err|tegra-mc'";
  const Seeing log = see(look, step, "kernel_log");
  take_alerts(look, step,
              {"JetmemSmmuStorm", "JetmemSmmuSuppressed", "JetmemSmmuFault",
               "JetmemMemoryControllerError"});
  const auto groups = look.value("jetmem_iommu_groups");
  if (groups) {
    note(step,
         *groups > 0
             ? "The IOMMU keeps " + counted(*groups, "group", "groups") + " of devices apart."
             : std::string("No IOMMU works: any device may write anywhere, and none can fault."));
  }
  const Counted faults = count_faults(look);
  const Counted controller = count_events(look, kController);
  if (look.found.smmu) {
    const std::string text = doctor::sentence(smmu_sentence(*look.found.smmu, look.today()));
    note(step, text, look.found.smmu->first);
  }
  std::map<std::string, double> clients;
  for (const Sample& each : look.now.samples.family("jetmem_smmu_faults_total")) {
    if (each.label("origin") != "probe") clients[printable(each.label("client"), 64)] += each.value;
  }
  for (const auto& [client, count] : clients) {
    if (count > 0)
      note(step, "Of " + client + ": " + counted(count, "fault", "faults") + " since boot.");
  }
  const bool any_faults = faults.total > 0 || faults.recent > 0;
  const bool any_errors = controller.total > 0 || controller.recent > 0;
  if (any_faults || any_errors) {
    const std::string text =
        "Faults of devices' memory accesses: " + counted_text(look, faults) + ".";
    const std::string errors =
        "Errors of the memory controller: " + counted_text(look, controller) + ".";
    if (any_faults) note(step, text, faults.last);
    if (any_errors) note(step, errors, controller.last);
    if (any_faults && any_errors) note(step, "Mostly such an error and a fault are one access.");
    note_events(look, step, kAll, 3);
    const bool is_recent = faults.is_recent || controller.is_recent;
    if (is_recent) {
      raise(step, Verdict::kWarning);
      advise(step,
             "A driver or firmware that uses a buffer after it was given back, or an address never "
             "mapped.",
             "Restart the program that uses this device; if it comes back, update L4T or report it "
             "to the driver's maker with jetmem capture.",
             "smmu-fault");
    }
    conclude(step, (is_recent ? "" : "No fault within the last day. ") +
                       (faults.is_recent || !any_errors ? text : errors));
    return;
  }
  if (faults.from_probe_only || controller.from_probe_only)
    note(step, "All faults in the log are of moments in which jetmem's own probe ran.");
  if (log != Seeing::kSeen) {
    raise(step, Verdict::kUnknown);
    conclude(step,
             "Whether devices fault cannot be told: " + absent_text(look, "kernel_log") + ".");
    return;
  }
  conclude(step, "No device has accessed memory that it must not.");
}

}  // namespace jetmem::doctor
