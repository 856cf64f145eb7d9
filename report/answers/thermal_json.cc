// The JSON form of what slows a device.

#include "base/text.h"
#include "report/answers/thermal_answer.h"

namespace jetmem {
namespace {

using nlohmann::ordered_json;
using Answer = ThermalAnswer;

ordered_json zone_json(const Answer::Zone& zone) {
  ordered_json out{{"zone", zone.zone}, {"index", zone.index}};
  put(out, "celsius", zone.celsius);
  if (zone.enabled) out["enabled"] = *zone.enabled;
  ordered_json& trips = out["trips"] = ordered_json::array();
  for (const auto& [kind, celsius] : zone.trips) {
    trips.push_back({{"kind", kind}, {"celsius", celsius}});
  }
  for (const auto& [kind, celsius] : zone.margins) out["margin_celsius"][kind] = celsius;
  put_absences(out, zone.absent);
  return out;
}

ordered_json clock_json(const Answer::Clock& clock) {
  ordered_json out{{"domain", clock.domain}, {"clock", clock.clock}};
  put(out, "hertz", clock.hertz);
  put(out, "max_hertz", clock.max_hertz);
  put(out, "hardware_max_hertz", clock.hardware_max_hertz);
  put_text(out, "governor", clock.governor);
  return out;
}

ordered_json rail_json(const Answer::Rail& rail) {
  ordered_json out{{"rail", rail.rail}, {"index", rail.index}};
  put(out, "watts", rail.watts);
  put(out, "volts", rail.volts);
  put(out, "amperes", rail.amperes);
  put(out, "warning_limit_amperes", rail.warning_amperes);
  return out;
}

}  // namespace

std::string thermal_json(const Answer& answer) {
  ordered_json out = answer_head(Answer::kSchema, answer.from);
  put(out, "throttling_level", answer.level);
  if (answer.throttling) out["throttling"] = *answer.throttling != 0;
  out["throttle_causes"] = answer.causes;
  out["board_alerts"] = answer.alerts;
  put_text(out, "power_mode", answer.power_mode);
  put(out, "cpus_online", answer.cpus_online);
  put(out, "cpus_present", answer.cpus_present);
  for (const char* list : {"zones", "cooling", "clocks", "rails", "over_current"}) {
    out[list] = ordered_json::array();
  }
  for (const Answer::Zone& zone : answer.zones) out["zones"].push_back(zone_json(zone));
  for (const Answer::Cooling& device : answer.cooling) {
    ordered_json each{{"type", device.type}, {"index", device.index}, {"state", device.state}};
    put(each, "max_state", device.max_state);
    out["cooling"].push_back(std::move(each));
  }
  for (const Answer::Clock& clock : answer.clocks) out["clocks"].push_back(clock_json(clock));
  for (const Answer::Rail& rail : answer.rails) out["rails"].push_back(rail_json(rail));
  for (const Answer::OverCurrent& event : answer.over_current) {
    ordered_json each{{"event", event.event}, {"count", event.count}};
    if (event.throttles) each["throttles"] = *event.throttles != 0;
    out["over_current"].push_back(std::move(each));
  }
  out["slows"] = answer.slows;
  out["left_out"] = answer.left_out;
  put_absences(out, answer.absent);
  return answer_text(out);
}

}  // namespace jetmem
