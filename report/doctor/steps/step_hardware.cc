// SPDX-License-Identifier: Apache-2.0
// Memory and bus errors: as the controllers count them, and as the log reports them.
#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

std::string name_of(const Sample& module) {
  const std::string_view label = module.label("label");
  return printable(label.empty() ? module.label("module") : label, 64) + " (" +
         printable(module.label("controller"), 64) + ")";
}

void note_ecc(const DeviceView& view, Step& step) {
  for (const Sample& each : view.now.samples.family("jetmem_edac_ecc")) {
    const std::string name = printable(each.label("controller"), 64);
    note(step,
         each.value > 0
             ? name + " checks its memory: ECC is on (" + printable(each.label("mode"), 64) + ")."
             : name + " does not check its memory: ECC is off, and errors stay unnoticed.");
  }
}

// Counts since the driver was loaded: when, nobody knows.
void note_errors(const DeviceView& view, Step& step) {
  const auto text = [](const Sample& errors, const std::string& of) {
    const std::string kind = printable(errors.label("error"), 20);
    return of + ": " +
           counted(errors.value, (kind + " memory error").c_str(),
                   (kind + " memory errors").c_str()) +
           " since the driver was loaded.";
  };
  for (const Sample& each : view.now.samples.family("jetmem_edac_errors_total")) {
    const std::string what = text(each, printable(each.label("controller"), 64));
    note(step, what);
    if (each.value <= 0 || each.label("error") != "uncorrected") continue;
    found_past(step, Verdict::kWarning, what,
               {"Usually a memory module is broken, and data in it is lost.",
                "Save the data, and replace the module.", "memory-error"});
  }
  for (const Sample& each : view.now.samples.family("jetmem_edac_module_errors_total")) {
    if (each.value > 0) note(step, text(each, "Of these, " + name_of(each)));
  }
}

}  // namespace

void examine_hardware(const DeviceView& view, Step& step) {
  take_alerts(view, step, {"JetmemMemoryErrorsCountedUncorrected", "JetmemMemoryErrorsCounted"});
  const SourceNow* const edac = view.now.source("edac");
  if (edac != nullptr && edac->state != "absent") see(view, step, "edac");
  note_errors(view, step);
  note_ecc(view, step);
  examine_by_events(view, step);
}

}  // namespace jetmem::doctor
