// Heat, and what slows the chip down.
#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

// Degrees to a limit that switches the machine off.
constexpr double kVeryNear = 5;

}  // namespace

void examine_thermal(const Look& look, Step& step) {
  step.confirm = "jetmem thermal";
  const Seeing zones = see(look, step, "thermal");
  const Seeing throttle = see(look, step, "throttle");
  take_alerts(look, step, {"JetmemThermalNearTrip", "JetmemThrottling", "JetmemOverCurrent"});
  const Sample* hottest = nullptr;
  for (const Sample& each : look.now.samples.family("jetmem_thermal_zone_celsius")) {
    if (hottest == nullptr || each.value > hottest->value) hottest = &each;
  }
  std::string stands;
  if (hottest != nullptr) {
    stands = "The hottest zone is " + printable(hottest->label("zone"), 64) + " at " +
             number(hottest->value, 1) + " C";
    note(step, stands + ".");
  }
  const Sample* nearest = nullptr;
  for (const Sample& each : look.now.samples.family("jetmem_thermal_margin_celsius")) {
    if (each.label("kind") != "critical") continue;
    if (nearest == nullptr || each.value < nearest->value) nearest = &each;
  }
  if (nearest != nullptr) {
    note(step, printable(nearest->label("zone"), 64) + " is " + number(nearest->value, 1) +
                   " C from where the machine switches itself off.");
    if (nearest->value < kVeryNear) {
      raise(step, Verdict::kCritical);
      conclude(step, printable(nearest->label("zone"), 64) + " is " + number(nearest->value, 1) +
                         " C from where the machine switches itself off.");
      advise(step, "The heat does not get away: fan, heat sink, or the air around it.",
             "Check fan and heat sink; choose a lower power mode.", "thermal-near-trip");
    }
  }
  std::string causes;
  for (const Sample& each : look.now.samples.family("jetmem_throttle_active")) {
    if (each.value > 0) causes += (causes.empty() ? "" : ", ") + printable(each.label("cause"), 64);
  }
  if (!causes.empty()) {
    raise(step, Verdict::kWarning);
    conclude(step, "The chip is slowed down now: " + causes + ".");
    note(step, "Slowing it down: " + causes + ".");
    advise(step, "Heat, or limits of power.",
           "Check fan, heat sink and supply; choose a lower power mode.", "throttling");
  }
  if (look.found.heat) {
    const std::string text = doctor::sentence(heat_sentence(*look.found.heat, look.today()));
    note(step, text, look.found.heat->began);
    raise(step, Verdict::kWarning);
    conclude(step, text);
    advise(step, "Heat, or limits of power.",
           "Check fan, heat sink and supply; choose a lower power mode.", "throttling");
  }
  const Counted heat = count_events(look, {"thermal"});
  if (heat.total > 0 || heat.recent > 0) {
    note(step, "The kernel's log has messages of heat: " + counted_text(look, heat) + ".",
         heat.last);
    if (heat.is_recent) raise(step, Verdict::kWarning);
    if (heat.is_recent)
      conclude(step, "The kernel warned of heat: " + counted_text(look, heat) + ".");
  }
  if (zones == Seeing::kAbsent && throttle == Seeing::kAbsent) {
    conclude(step,
             "Does not apply: this machine shows no temperatures and nothing that slows it down.");
    return;
  }
  if (zones == Seeing::kBlind || throttle == Seeing::kBlind) {
    conclude(step, "Heat cannot be judged: " +
                       absent_text(look, zones == Seeing::kBlind ? "thermal" : "throttle") + ".");
  }
  if (stands.empty()) stands = "Nothing slows the chip down; no zone has a temperature now";
  conclude(step, stands + (throttle == Seeing::kSeen ? ", and nothing slows the chip down." : "."));
}

}  // namespace jetmem::doctor
