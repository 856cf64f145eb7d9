// SPDX-License-Identifier: Apache-2.0
// Whether the installed L4T release has a known memory defect: diagnosis/known_issues.yaml.
#include <algorithm>

#include "base/text/text.h"
#include "report/diagnosis/known_issues.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// Known issues of the step's events: which release they concern is part of their words.
void note_known_issues(const DeviceView& view, Step& step) {
  for (const diagnosis::Cause& each : view.causes) {
    if (diagnosis::is_known_issue(each.id)) {
      note(step, "Known issue " + each.id + ": " + each.cause + " Remedy: " + each.remedy +
                     (each.link.empty() ? "" : " " + each.link));
    }
  }
}

}  // namespace

void examine_versions(const DeviceView& view, Step& step) {
  step.confirm = "cat /etc/nv_tegra_release; uname -r";
  note_known_issues(view, step);
  const auto infos = view.now.samples.family("jetmem_device_info");
  // A release file without a device tree is enough.
  if (see(view, step, "device") != Seeing::kSeen && infos.empty()) {
    return unknown(view, step, "Device and versions are", "device");
  }
  if (infos.empty()) {
    found(step, Verdict::kUnknown, "The device does not report its versions.");
    return;
  }
  const std::string l4t = printable(infos[0].label("l4t"), 40);
  const std::string kernel = printable(infos[0].label("kernel"), 80);
  const std::string model = printable(infos[0].label("model"), 100);
  std::string text = model.empty() ? std::string("Unknown device model") : model;
  if (!l4t.empty()) {
    text += ", L4T " + l4t;
  } else if (!view.is_jetson()) {
    text += ", no L4T";
  }
  if (!kernel.empty()) text += ", kernel " + kernel;
  note(step, text + ".");
  for (const Sample& each : view.now.samples.family("jetmem_last_change_timestamp_seconds")) {
    const auto what = each.label("what");
    if (what != "kernel" && what != "l4t") continue;
    note(step,
         "The " + std::string(what == "l4t" ? "L4T release" : "kernel") + " last changed at " +
             moment(each.value, view.today()) + ".",
         each.value);
  }
  if (l4t.empty() && view.is_jetson()) {
    found(step, Verdict::kUnknown,
          "Which L4T release this Jetson runs is unknown (no /etc/nv_tegra_release): its known "
          "defects are not checked.");
    return;
  }
  if (l4t.empty()) {
    conclude(step, "Not applicable: not a Jetson; only L4T releases are checked.");
    return;
  }
  for (const diagnosis::KnownIssue* issue : diagnosis::known_issues_of_release(l4t)) {
    const diagnosis::CauseEntry& entry = issue->entry;
    found(step, Verdict::kWarning, "L4T " + l4t + ": " + std::string(entry.cause),
          {std::string(entry.cause), std::string(entry.remedy), std::string(entry.runbook)});
    for (const std::string_view link : issue->links) note(step, std::string(link));
  }
  conclude(step, "L4T " + l4t + " has no known memory defect.");
}

}  // namespace jetmem::doctor
