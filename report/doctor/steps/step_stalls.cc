// SPDX-License-Identifier: Apache-2.0
// Tasks that are stuck in the kernel now, and lockups and bugs that the log reports.
#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {

void examine_stalls(const DeviceView& view, Step& step) {
  take_alerts(view, step, {"JetmemTaskStuck"});
  for (const Sample& each : view.now.samples.family("jetmem_stuck_task_seconds")) {
    const SampleSet::Match who{{"command", each.label("command")},
                               {"wait_channel", each.label("wait_channel")}};
    std::string text = printable(each.label("command"), 64);
    if (const auto pid = view.value("jetmem_stuck_task_pid", who)) {
      text += " (PID " + number(*pid, 0) + ")";
    }
    text += " has been stuck in the kernel for " + span(each.value);
    if (!each.label("wait_channel").empty()) {
      text += ", in " + printable(each.label("wait_channel"), 64);
    }
    note(step, text + ".");
    if (view.is_judged_by("JetmemTaskStuck")) continue;
    found(step, Verdict::kWarning, text + ".",
          {"It waits for a driver, a disk or a lock that does not answer.",
           "sudo jetmem capture, then restart what the task uses; reboot if more tasks follow.",
           "cpu-stall"});
  }
  if (const auto stuck = view.value("jetmem_stuck_tasks"); stuck && *stuck == 0) {
    note(step, "No task is stuck in the kernel (30 s in uninterruptible sleep).");
  }
  examine_by_events(view, step);
}

}  // namespace jetmem::doctor
