// What happened when jetmem itself last took memory of each kind.
#include "base/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

std::string target(const Sample& sample) {
  std::string out = printable(sample.label("kind"), 40);
  if (!sample.label("target").empty()) out += " " + printable(sample.label("target"), 64);
  return out;
}

}  // namespace

void examine_probes(const Look& look, Step& step) {
  step.confirm = "sudo jetmem probe";
  const SourceNow* const source = look.now.source("probe");
  const Seeing seen = see(look, step, "probe");
  take_alerts(look, step, {"JetmemProbeMismatch", "JetmemProbeFailing", "JetmemProbeSlow"});
  for (const Sample& each : look.now.samples.family("jetmem_probe_last_mismatched_words")) {
    if (each.value <= 0) continue;
    raise(step, Verdict::kCritical);
    const std::string text = "Memory of kind " + target(each) + " came back with " +
                             number(each.value, 0) + " wrong words.";
    note(step, text);
    conclude(step, text);
    advise(step, "Caches, IOMMU, driver or the memory itself are broken.",
           "Take the device out of service; do not trust what it computes.", "probe-mismatch");
  }
  double ok = 0;
  double failed = 0;
  for (const Sample& each : look.now.samples.family("jetmem_probe_state")) {
    if (each.label("state") == "ok") ok += each.value;
    if (each.label("state") != "failed") continue;
    ++failed;
    std::string text = "Memory of kind " + target(each) + " could not be had or used";
    for (const Sample& why : look.now.samples.family("jetmem_probe_failed_bytes")) {
      if (why.label("kind") == each.label("kind") && why.label("target") == each.label("target")) {
        text += ": " + bytes(why.value) + " failed at step " + printable(why.label("step"), 40) +
                " with " + printable(why.label("error"), 80);
      }
    }
    note(step, text + ".");
    raise(step, Verdict::kWarning);
    conclude(step, text + ".");
    advise(step, "A program that asks for such memory now meets the same.",
           "See the runbook for this kind of memory.", "probe-failing");
  }
  if (ok > 0 || failed > 0) {
    std::string text =
        counted(ok, "kind", "kinds") + " of memory could be had, used and given back";
    if (const auto age = look.value("jetmem_probe_age_seconds", {{"group", "memory"}}))
      text += ", " + span(*age) + " ago";
    note(step, text + ".");
    conclude(step, text + ".");
    return;
  }
  if (source != nullptr && source->state == "disabled") {
    step.verdict = Verdict::kFine;
    conclude(
        step,
        "Does not apply: probes are switched off in the settings, so nothing is known of them.");
    return;
  }
  raise(step, Verdict::kUnknown);
  conclude(step, seen == Seeing::kSeen ? std::string("No probe has ended yet.")
                                       : "Nothing was probed: " + absent_text(look, "probe") + ".");
}

}  // namespace jetmem::doctor
