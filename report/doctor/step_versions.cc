// Whether what runs here is known to have a defect that shows as trouble with memory.
#include "base/text.h"
#include "report/doctor/known_bad.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {

void examine_versions(const Look& look, Step& step) {
  step.confirm = "cat /etc/nv_tegra_release; uname -r";
  if (see(look, step, "device") != Seeing::kSeen) {
    raise(step, Verdict::kUnknown);
    conclude(step, "Which device and versions these are cannot be told: " +
                       absent_text(look, "device") + ".");
    return;
  }
  const auto infos = look.now.samples.family("jetmem_device_info");
  if (infos.empty()) {
    raise(step, Verdict::kUnknown);
    conclude(step, "The device does not say which versions it has.");
    return;
  }
  const std::string l4t = printable(infos[0].label("l4t"), 40);
  const std::string kernel = printable(infos[0].label("kernel"), 80);
  const std::string model = printable(infos[0].label("model"), 100);
  std::string text = model.empty() ? std::string("The device does not say its model") : model;
  text += l4t.empty() ? ", no L4T" : ", L4T " + l4t;
  if (!kernel.empty()) text += ", kernel " + kernel;
  note(step, text + ".");
  for (const Sample& each : look.now.samples.family("jetmem_last_change_timestamp_seconds")) {
    const auto what = each.label("what");
    if (what != "kernel" && what != "l4t") continue;
    note(step,
         "The " + std::string(what == "l4t" ? "L4T release" : "kernel") +
             " was last found changed at " + moment(each.value, look.today()) + ".",
         each.value);
  }
  if (l4t.empty()) {
    conclude(step, "Does not apply: this is no Jetson, and only releases of L4T are known here.");
    return;
  }
  if (const KnownBad* bad = known_bad_l4t(l4t)) {
    raise(step, Verdict::kWarning);
    conclude(step, "L4T " + l4t + ": " + std::string(bad->what) + ".");
    advise(step, bad->what, bad->remedy, "nvmap-cap");
    return;
  }
  conclude(step, "L4T " + l4t + " has no defect with memory that jetmem knows of.");
}

}  // namespace jetmem::doctor
