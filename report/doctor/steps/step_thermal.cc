// SPDX-License-Identifier: Apache-2.0
// Temperatures and throttling.
#include <algorithm>

#include "base/text/text.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

// Degrees below the shutdown temperature.
constexpr double kVeryNear = 5;

}  // namespace

void examine_thermal(const DeviceView& view, Step& step) {
  step.confirm = "jetmem thermal";
  const Seeing zones = see(view, step, "thermal");
  const Seeing throttle = see(view, step, "throttle");
  take_alerts(view, step, {"JetmemThermalNearTrip", "JetmemOverCurrent", "JetmemThrottling"});
  const Sample* const hottest = largest(view, "jetmem_thermal_zone_celsius");
  std::string stands;
  if (hottest != nullptr) {
    stands = "The hottest zone is " + printable(hottest->label("zone"), 64) + " at " +
             number(hottest->value, 1) + " C";
    note(step, stands + ".");
  }
  const Sample* nearest = nullptr;
  for (const Sample& each : view.now.samples.family("jetmem_thermal_margin_celsius")) {
    if (each.label("kind") != "critical") continue;
    if (nearest == nullptr || each.value < nearest->value) nearest = &each;
  }
  if (nearest != nullptr) {
    note(step, printable(nearest->label("zone"), 64) + " is " + number(nearest->value, 1) +
                   " C below its shutdown temperature.");
    if (nearest->value < kVeryNear && !view.is_judged_by("JetmemThermalNearTrip")) {
      found(step, Verdict::kCritical,
            printable(nearest->label("zone"), 64) + " is " + number(nearest->value, 1) +
                " C below its shutdown temperature.",
            {"Insufficient cooling: fan, heat sink, or ambient air.",
             "Check fan and heat sink; sudo nvpmodel -q lists power modes.", "thermal-near-trip"});
    }
  }
  std::string causes;
  for (const Sample& each : view.now.samples.family("jetmem_throttle_active")) {
    if (each.value > 0) causes += (causes.empty() ? "" : ", ") + printable(each.label("cause"), 64);
  }
  if (!causes.empty()) {
    note(step, "Active throttle causes: " + causes + ".");
    if (!view.is_judged_by("JetmemThrottling")) {
      found(step, Verdict::kWarning, "The chip is throttled by " + causes + ".",
            {"Heat, or a power limit.",
             "Check fan, heat sink and supply; sudo nvpmodel -q lists power modes.", "throttling"});
    }
  }
  if (view.found.heat) {
    const std::string text = doctor::sentence(heat_sentence(*view.found.heat, view.today()));
    note(step, text, view.found.heat->began);
    found_past(
        step, Verdict::kWarning, text,
        {"Heat, or a power limit.",
         "Check fan, heat sink and supply; sudo nvpmodel -q lists power modes.", "throttling"});
  }
  examine_failures(view, step, {"thermal"}, "Messages of heat and power in the kernel log",
                   "The kernel warned of heat or power");
  examine_events(view, step, {"thermal"});
  if (zones == Seeing::kAbsent && throttle == Seeing::kAbsent) {
    conclude(step, "Not applicable: this machine reports neither temperatures nor throttling.");
    return;
  }
  if (zones == Seeing::kBlind || throttle == Seeing::kBlind) {
    conclude(step, "Temperatures or throttling are unknown: " +
                       absent_text(view, zones == Seeing::kBlind ? "thermal" : "throttle") + ".");
  }
  const bool not_throttled = causes.empty() && view.now.samples.value("jetmem_throttling") == 0.0;
  // "Not throttled" takes knowing all causes.
  const auto unread = view.now.samples.family("jetmem_source_absent_values");
  const bool some_unread = std::any_of(unread.begin(), unread.end(), [](const Sample& each) {
    return each.label("source") == "throttle" && each.value > 0;
  });
  const bool unknown = causes.empty() && !not_throttled;
  if (stands.empty() && !unknown) stands = "No zone reports a temperature";
  if (not_throttled)
    stands += hottest != nullptr ? ", not throttled" : "; nothing throttles the chip";
  if (stands.empty()) {
    found(
        step, Verdict::kUnknown,
        "Temperatures and throttling are unknown: no zone reports a temperature, and nothing here "
        "says whether the chip is slowed down.");
  } else if (some_unread && unknown) {
    found(step, Verdict::kUnknown,
          stands + "; whether the chip is slowed down is unknown: not every cause can be read.");
  }
  conclude(step, stands + ".");
}

}  // namespace jetmem::doctor
