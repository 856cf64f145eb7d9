// SPDX-License-Identifier: Apache-2.0
// The results of jetmem's test allocations.
#include <algorithm>
#include <optional>

#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

std::string target(const Sample& sample) {
  std::string out = printable(sample.label("kind"), 40);
  if (!sample.label("target").empty()) out += " " + printable(sample.label("target"), 64);
  return out;
}

}  // namespace

void examine_probes(const DeviceView& view, Step& step) {
  step.confirm = "sudo jetmem probe";
  const SourceNow* const source = view.now.source("probe");
  const Seeing seen = see(view, step, "probe");
  take_alerts(view, step, {"JetmemProbeMismatch", "JetmemProbeFailing", "JetmemProbeSlow"});
  for (const Sample& each : view.now.samples.family("jetmem_probe_state")) {
    if (each.value <= 0 || each.label("state") != "mismatch") continue;
    std::string text = "Test allocation corrupted: " + target(each);
    const auto words = view.value("jetmem_probe_last_mismatched_words",
                                  {{"kind", each.label("kind")}, {"target", each.label("target")}});
    if (words) text += ", " + counted(*words, "wrong word", "wrong words");
    text += ".";
    note(step, text);
    if (view.is_judged_by("JetmemProbeMismatch")) continue;
    found(step, Verdict::kCritical, text,
          {"Faulty caches, IOMMU, driver or memory.",
           "Take the device out of service: its results are not trustworthy.", "probe-mismatch"});
  }
  if (view.value("jetmem_probe_kernels_loaded") == 0) {
    note(step,
         "The GPU's own access is not checked: the driver compiled no kernels (`jetmem probe` "
         "prints why).");
  }
  double ok = 0;
  double finished = 0;
  for (const Sample& each : view.now.samples.family("jetmem_probe_state")) {
    if (each.value <= 0) continue;
    ++finished;
    if (each.label("state") == "ok") ++ok;
    if (each.label("state") != "failed") continue;
    std::string text = "Test allocation failed: " + target(each);
    for (const Sample& why : view.now.samples.family("jetmem_probe_failed_bytes")) {
      if (why.label("kind") == each.label("kind") && why.label("target") == each.label("target")) {
        text += ", " + bytes(why.value) + " (" + printable(why.label("step"), 40) + ": " +
                printable(why.label("error"), 80) + ")";
      }
    }
    note(step, text + ".");
    if (view.is_judged_by("JetmemProbeFailing")) continue;
    found(step, Verdict::kWarning, text + ".",
          {"Programs that allocate this kind of memory fail, too.",
           "sudo jetmem probe; jetmem cma; jetmem top", "probe-failing"});
  }
  if (finished > 0) {
    std::string text =
        "Test allocations of " + counted(ok, "kind", "kinds") + " of memory succeeded";
    // Those with CUDA come more seldom than those without.
    std::optional<double> age;
    for (const Sample& each : view.now.samples.family("jetmem_probe_age_seconds")) {
      age = std::max(age.value_or(0), each.value);
    }
    if (ok > 0 && age) text += ", at most " + span(*age) + " ago";
    note(step, text + ".");
    conclude(step, text + ".");
    return;
  }
  if (source != nullptr && source->state == "disabled") {
    step.verdict = Verdict::kOk;
    conclude(step, "Not applicable: probes are disabled in the settings.");
    return;
  }
  found(step, Verdict::kUnknown,
        seen == Seeing::kSeen ? std::string("No probe has finished yet.")
                              : "No probe ran: " + absent_text(view, "probe") + ".");
}

}  // namespace jetmem::doctor
