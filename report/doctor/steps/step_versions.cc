// SPDX-License-Identifier: Apache-2.0
// Whether the installed L4T release has a known memory defect.
#include <array>

#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// Releases with a known defect that shows as trouble with memory. Only what several reports or the
// vendor state, each with its source: a false entry sends people to update for nothing.
struct KnownBad {
  // Exactly this release of L4T: what later ones fixed is not guessed from ranges.
  std::string_view l4t;
  std::string_view what;
  std::string_view remedy;
};

// The fixes of CVE-2025-33177 and CVE-2025-33182 in nvmap refuse allocations that might lead to an
// OOM, far below what is free: measured on an Orin Nano with 36.4.7, 3 GiB are had and 4 GiB are
// refused with 5.4 GiB of 7.4 free. NVIDIA named the three releases and those that lift it.
//   https://github.com/ggml-org/llama.cpp/discussions/16706
//   https://github.com/ggml-org/llama.cpp/pull/23732
//   https://forums.developer.nvidia.com/t/347862
//   https://forums.developer.nvidia.com/t/349752
//   https://github.com/pytorch/pytorch/issues/185240
constexpr std::string_view kNvmapLimit =
    "nvmap of this release refuses large GPU allocations (NvMapMemAllocInternalTagged, error 12) "
    "although much more memory is free: a side effect of its fix of CVE-2025-33177";

constexpr std::array<KnownBad, 3> kKnown{{
    {"36.4.7", kNvmapLimit, "Update to L4T 36.5 (JetPack 6.2.2) or later."},
    {"35.6.3", kNvmapLimit, "Update to L4T 35.6.4 (JetPack 5.1.6) or later."},
    {"38.2.2", kNvmapLimit,
     "Update to the newest L4T 38 release, and try a single large allocation there."},
}};

// Null where nothing is known against it, which is no praise.
const KnownBad* known_bad_l4t(std::string_view l4t) {
  for (const KnownBad& each : kKnown) {
    if (each.l4t == l4t) return &each;
  }
  return nullptr;
}

}  // namespace

void examine_versions(const DeviceView& view, Step& step) {
  step.confirm = "cat /etc/nv_tegra_release; uname -r";
  if (see(view, step, "device") != Seeing::kSeen) {
    return unknown(view, step, "Device and versions are", "device");
  }
  const auto infos = view.now.samples.family("jetmem_device_info");
  if (infos.empty()) {
    found(step, Verdict::kUnknown, "The device does not report its versions.");
    return;
  }
  const std::string l4t = printable(infos[0].label("l4t"), 40);
  const std::string kernel = printable(infos[0].label("kernel"), 80);
  const std::string model = printable(infos[0].label("model"), 100);
  std::string text = model.empty() ? std::string("Unknown device model") : model;
  text += l4t.empty() ? ", no L4T" : ", L4T " + l4t;
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
  if (l4t.empty()) {
    conclude(step, "Not applicable: not a Jetson; only L4T releases are checked.");
    return;
  }
  if (const KnownBad* bad = known_bad_l4t(l4t)) {
    found(step, Verdict::kWarning, "L4T " + l4t + ": " + std::string(bad->what) + ".",
          {bad->what, bad->remedy, "nvmap-cap"});
    return;
  }
  conclude(step, "L4T " + l4t + " has no known memory defect.");
}

}  // namespace jetmem::doctor
