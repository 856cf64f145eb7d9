// SPDX-License-Identifier: Apache-2.0
// Devices that accessed unmapped memory: SMMU faults and memory controller errors.
#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

const std::initializer_list<std::string_view> kFaults{"smmu_context_fault", "smmu_global_fault",
                                                      "smmu_v3_event", "smmu_error"};
// Usually reported together with an SMMU fault of the same access: counted apart.
const std::initializer_list<std::string_view> kController{"mc_error"};
const std::initializer_list<std::string_view> kAll{"smmu_context_fault", "smmu_global_fault",
                                                   "smmu_v3_event", "smmu_error", "mc_error"};

Counted count_faults(const DeviceView& view) {
  Counted out = count_events(view, kFaults);
  // The total since boot includes suppressed messages; the last day has the log only.
  for (const Sample& each : view.now.samples.family("jetmem_kernel_events_suppressed_total")) {
    if (each.value > 0 &&
        std::find(kFaults.begin(), kFaults.end(), each.label("kind")) != kFaults.end()) {
      out.at_least = out.total <= 0;
    }
  }
  return out;
}

}  // namespace

void examine_smmu(const DeviceView& view, Step& step) {
  step.confirm = "jetmem events --faults; sudo dmesg | grep -iE 'smmu|mc-err|tegra-mc|AMD-Vi|DMAR'";
  const Seeing log = see(view, step, "kernel_log");
  take_alerts(view, step,
              {"JetmemSmmuStorm", "JetmemSmmuSuppressed", "JetmemSmmuFault",
               "JetmemMemoryControllerError"});
  const auto groups = view.value("jetmem_iommu_groups");
  if (groups) {
    note(step,
         *groups > 0
             ? "The IOMMU isolates " + counted(*groups, "group", "groups") + " of devices."
             : std::string("No IOMMU is active: devices can write anywhere without a fault."));
  }
  const Counted faults = count_faults(view);
  const Counted controller = count_events(view, kController);
  if (view.found.smmu) {
    const std::string text = doctor::sentence(smmu_sentence(*view.found.smmu, view.today()));
    note(step, text, view.found.smmu->first);
  }
  std::map<std::string, double> clients;
  for (const Sample& each : view.now.samples.family("jetmem_smmu_faults_total")) {
    if (each.label("origin") != "probe") clients[printable(each.label("client"), 64)] += each.value;
  }
  for (const auto& [client, count] : clients) {
    if (count > 0)
      note(step, (client == "unknown" ? "Unattributed" : client) + ": " +
                     counted(count, "fault", "faults") + " since boot.");
  }
  examine_events(view, step, kAll);
  const bool any_faults = faults.total > 0 || faults.recent > 0;
  const bool any_errors = controller.total > 0 || controller.recent > 0;
  if (any_faults || any_errors) {
    const std::string text = "SMMU faults: " + counted_text(view, faults) + ".";
    const std::string errors = "Memory controller errors: " + counted_text(view, controller) + ".";
    if (any_faults) note(step, text, faults.last);
    if (any_errors) note(step, errors, controller.last);
    if (any_faults && any_errors)
      note(step, "Usually such an error and a fault report the same access.");
    note_events(view, step, kAll, 3);
    const bool is_recent = faults.is_recent || controller.is_recent;
    if (is_recent) {
      raise_past(step, Verdict::kWarning);
      advise(step,
             "A driver or firmware uses a buffer after it was freed, or an address that was never "
             "mapped.",
             "Restart the program that uses this device. If faults return, update L4T or send the "
             "driver's vendor the output of: jetmem capture",
             "smmu-fault");
    }
    conclude(step, (is_recent ? "" : "No fault in the last 24 h. ") +
                       (faults.is_recent || !any_errors ? text : errors));
    return;
  }
  if (faults.from_probe_only || controller.from_probe_only)
    note(step, "All faults in the log happened while jetmem's own probe ran.");
  if (log != Seeing::kSeen) {
    return unknown(view, step, "SMMU faults are", "kernel_log");
  }
  conclude(step, "No device accessed unmapped memory.");
}

}  // namespace jetmem::doctor
