// SPDX-License-Identifier: Apache-2.0
#include "report/answers/thermal_answer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

std::string shown_label(const Sample& sample, std::string_view name) {
  return printable(sample.label(name), 64);
}

// The first kMaxEach samples of a metric; those beyond are counted.
std::span<const Sample> some_of(ThermalAnswer& answer, const SampleSet& samples,
                                std::string_view family) {
  auto found = samples.family(family);
  if (found.size() > ThermalAnswer::kMaxEach) {
    answer.omitted += found.size() - ThermalAnswer::kMaxEach;
    found = found.first(ThermalAnswer::kMaxEach);
  }
  return found;
}

// Of any zone without one: the source counts its absent values by reason, not by zone, and those of
// limits and cooling devices too.
std::string why_no_temperature(const SampleSet& samples) {
  std::string counts;
  bool is_off = true;
  for (const Sample& each : samples.family("jetmem_source_absent_values")) {
    const std::string_view reason = each.label("reason");
    if (each.label("source") != "thermal" || each.value <= 0) continue;
    if (reason == "binding_unknown" || reason == "trip_unset") continue;
    is_off = is_off && reason == "powered_off";
    std::string words = printable(reason, 32);
    std::replace(words.begin(), words.end(), '_', ' ');
    counts += (counts.empty() ? "" : ", ") +
              std::to_string(static_cast<std::uint64_t>(each.value)) + " " + words;
  }
  if (is_off) return "the kernel reports no temperature: this part is usually powered off";
  return "thermal values that are missing: " + counts;
}

void add_zones(ThermalAnswer& answer, const SampleSet& samples) {
  // A powered-off zone has limits and no temperature.
  for (const Sample& sample : some_of(answer, samples, "jetmem_thermal_zone_enabled")) {
    ThermalAnswer::Zone zone;
    zone.zone = sample.label("zone");
    zone.index = sample.label("index");
    zone.enabled = sample.value != 0;
    answer.zones.push_back(std::move(zone));
  }
  const auto of = [&](const Sample& sample) -> ThermalAnswer::Zone* {
    for (ThermalAnswer::Zone& zone : answer.zones) {
      if (zone.zone == sample.label("zone") && zone.index == sample.label("index")) return &zone;
    }
    if (answer.zones.size() == ThermalAnswer::kMaxEach) return nullptr;
    ThermalAnswer::Zone zone;
    zone.zone = sample.label("zone");
    zone.index = sample.label("index");
    answer.zones.push_back(std::move(zone));
    return &answer.zones.back();
  };
  for (const Sample& sample : samples.family("jetmem_thermal_zone_celsius")) {
    if (ThermalAnswer::Zone* zone = of(sample)) zone->celsius = sample.value;
  }
  for (const Sample& sample : samples.family("jetmem_thermal_trip_celsius")) {
    ThermalAnswer::Zone* zone = of(sample);
    if (zone != nullptr && zone->trips.size() < 16) {
      ThermalAnswer::Trip trip{shown_label(sample, "kind"), sample.value, std::nullopt};
      if (const auto bound =
              samples.value("jetmem_thermal_trip_bound", {{"zone", sample.label("zone")},
                                                          {"index", sample.label("index")},
                                                          {"trip", sample.label("trip")}})) {
        trip.bound = *bound != 0;
      }
      zone->trips.push_back(std::move(trip));
    }
  }
  for (const Sample& sample : samples.family("jetmem_thermal_margin_celsius")) {
    ThermalAnswer::Zone* zone = of(sample);
    if (zone != nullptr && zone->margins.size() < 16) {
      zone->margins.emplace_back(shown_label(sample, "kind"), sample.value);
    }
  }
  const std::string no_temperature = why_no_temperature(samples);
  for (ThermalAnswer::Zone& zone : answer.zones) {
    zone.zone = printable(zone.zone, 64);
    zone.index = printable(zone.index, 16);
    explain(zone.absent, "celsius", zone.celsius, no_temperature);
    std::sort(zone.trips.begin(), zone.trips.end(),
              [](const auto& a, const auto& b) { return a.celsius < b.celsius; });
    for (const char* kind : {"passive", "active"}) {
      const bool unknown = std::any_of(
          zone.trips.begin(), zone.trips.end(),
          [&](const ThermalAnswer::Trip& trip) { return trip.kind == kind && !trip.bound; });
      if (!unknown || !zone.celsius || zone.enabled == false) continue;
      explain(zone.absent, std::string("margin_celsius.") + kind, zone.margin(kind),
              "which cooling devices are bound to these limits cannot be read");
    }
  }
  std::stable_sort(answer.zones.begin(), answer.zones.end(),
                   [](const ThermalAnswer::Zone& a, const ThermalAnswer::Zone& b) {
                     return a.celsius.value_or(-1e9) > b.celsius.value_or(-1e9);
                   });
}

void add_clocks(ThermalAnswer& answer, const SampleSet& samples) {
  for (const Sample& sample : some_of(answer, samples, "jetmem_clock_hertz")) {
    const SampleSet::Match match{{"domain", sample.label("domain")},
                                 {"clock", sample.label("clock")}};
    ThermalAnswer::Clock clock;
    clock.domain = shown_label(sample, "domain");
    clock.clock = shown_label(sample, "clock");
    clock.hertz = sample.value;
    clock.max_hertz = samples.value("jetmem_clock_max_hertz", match);
    clock.hardware_max_hertz = samples.value("jetmem_clock_hardware_max_hertz", match);
    if (clock.domain == "memory" && !clock.max_hertz) {
      clock.max_hertz = samples.value("jetmem_emc_cap_hertz");
    }
    if (const Sample* governor = samples.find("jetmem_clock_governor_info", match)) {
      clock.governor = shown_label(*governor, "governor");
    }
    answer.clocks.push_back(std::move(clock));
  }
}

// Of the only GPU there is: which of several a value of tegrastats' is of is not known.
void add_gpu(ThermalAnswer& answer, const SampleSet& samples) {
  const Sample* clock = nullptr;
  std::size_t gpus = 0;
  for (const Sample& sample : samples.family("jetmem_clock_hertz")) {
    if (sample.label("domain") != "gpu") continue;
    clock = &sample;
    ++gpus;
  }
  if (gpus > 1) clock = nullptr;
  const auto loads = samples.family("jetmem_gpu_load_ratio");
  ThermalAnswer::Engine gpu;
  gpu.engine = "GPU";
  gpu.source = gpu.load_source = "kernel";
  if (clock != nullptr) gpu.hertz = clock->value;
  if (loads.size() == 1) gpu.load = loads.front().value;
  if (!gpu.load) {
    gpu.load_source = "tegrastats";
    gpu.load = samples.value("jetmem_tegrastats_gpu_utilization_ratio");
  }
  const auto by_nvml = samples.family("jetmem_nvml_utilization_ratio");
  if (!gpu.load && by_nvml.size() == 1) {
    gpu.load_source = "nvml";
    gpu.load = by_nvml.front().value;
  }
  if (!gpu.hertz && !gpu.load) return;
  if (!gpu.hertz) gpu.source = gpu.load_source;
  if (!gpu.load) gpu.load_source.clear();
  explain(gpu.absent, "load_ratio", gpu.load, "no source reports how busy the GPU is");
  answer.engines.push_back(std::move(gpu));
}

// tegrastats of L4T 39 has a number where the kernel has none: NVENC0 is NVENC.
bool is_same_engine(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return a == b || (a.size() == b.size() + 1 && a.starts_with(b) && a.back() == '0');
}

std::optional<double> load_by_tegrastats(const SampleSet& samples, std::string_view engine) {
  for (const Sample& sample : samples.family("jetmem_tegrastats_engine_utilization_ratio")) {
    if (is_same_engine(sample.label("engine"), engine)) return sample.value;
  }
  return std::nullopt;
}

void add_engines(ThermalAnswer& answer, const SampleSet& samples) {
  add_gpu(answer, samples);
  const auto add = [&](const Sample& sample, std::string_view source, const char* clock) {
    const SampleSet::Match match{{"engine", sample.label("engine")}};
    ThermalAnswer::Engine engine;
    engine.engine = shown_label(sample, "engine");
    for (const ThermalAnswer::Engine& each : answer.engines) {
      if (is_same_engine(each.engine, engine.engine)) return;
    }
    engine.source = source;
    engine.on = sample.value;
    engine.hertz = samples.value(clock, match);
    if (sample.value > 0) {
      engine.load = samples.value("jetmem_engine_load_ratio", match);
      engine.load_source = "kernel";
      if (!engine.load) {
        engine.load = load_by_tegrastats(samples, sample.label("engine"));
        engine.load_source = "tegrastats";
      }
      explain(engine.absent, "load_ratio", engine.load,
              "no readable load counter: only whether it is on is known");
    } else {
      explain(engine.absent, "load_ratio", engine.load, "the engine is off");
    }
    if (!engine.load) engine.load_source.clear();
    answer.engines.push_back(std::move(engine));
  };
  for (const Sample& sample : some_of(answer, samples, "jetmem_engine_on")) {
    add(sample, "kernel", "jetmem_engine_clock_hertz");
  }
  for (const Sample& sample : some_of(answer, samples, "jetmem_tegrastats_engine_on")) {
    add(sample, "tegrastats", "jetmem_tegrastats_engine_clock_hertz");
  }
}

void add_rails(ThermalAnswer& answer, const SampleSet& samples) {
  for (const Sample& sample : some_of(answer, samples, "jetmem_rail_watts")) {
    const SampleSet::Match match{{"rail", sample.label("rail")}, {"index", sample.label("index")}};
    ThermalAnswer::Rail rail;
    rail.rail = shown_label(sample, "rail");
    rail.index = shown_label(sample, "index");
    rail.watts = sample.value;
    rail.volts = samples.value("jetmem_rail_volts", match);
    rail.amperes = samples.value("jetmem_rail_amperes", match);
    rail.warning_amperes = samples.value("jetmem_rail_warning_limit_amperes", match);
    answer.rails.push_back(std::move(rail));
  }
  for (const Sample& sample : some_of(answer, samples, "jetmem_overcurrent_events_total")) {
    answer.over_current.push_back(
        {shown_label(sample, "event"), sample.value,
         samples.value("jetmem_overcurrent_throttle_enabled", {{"event", sample.label("event")}})});
  }
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

void print_slow_parts(ThermalAnswer& answer) {
  if (!answer.causes.empty()) {
    answer.slows.push_back("Throttled now by " + list_of(answer.causes) +
                           ": overheating or over-current; check fan, dust, supply and load.");
  }
  std::vector<std::string> capped;
  for (const ThermalAnswer::Clock& clock : answer.clocks) {
    if (clock.max_hertz && clock.hardware_max_hertz && *clock.hardware_max_hertz > 0 &&
        *clock.max_hertz < *clock.hardware_max_hertz * 0.99) {
      capped.push_back(clock.clock);
    }
  }
  if (!capped.empty()) {
    answer.slows.push_back(
        "Clocks below the hardware maximum: " + list_of(capped) + "; lowered by " +
        (answer.power_mode.empty()
             ? "a setting or cooling."
             : "the power mode (" + answer.power_mode + "), a setting or cooling."));
  }
  if (answer.cpus_online && answer.cpus_present && *answer.cpus_online < *answer.cpus_present) {
    answer.slows.emplace_back("Some CPUs are offline, by the power mode or a setting.");
  }
}

}  // namespace

std::optional<double> ThermalAnswer::Zone::margin(std::string_view kind) const {
  for (const auto& [name, degrees] : margins) {
    if (name == kind) return degrees;
  }
  return std::nullopt;
}

ThermalAnswer thermal_answer(const DeviceNow& now) {
  ThermalAnswer answer;
  answer.from = answer_from(now);
  const SampleSet& samples = now.samples;
  answer.level = samples.value("jetmem_throttling_level");
  answer.throttling = samples.value("jetmem_throttling");
  for (const Sample& sample : some_of(answer, samples, "jetmem_throttle_active")) {
    if (sample.value > 0) answer.causes.push_back(shown_label(sample, "cause"));
  }
  for (const Sample& sample : some_of(answer, samples, "jetmem_thermal_alert_active")) {
    if (sample.value > 0) answer.alerts.push_back(shown_label(sample, "alert"));
  }
  if (const Sample* mode = samples.find("jetmem_power_mode_info")) {
    answer.power_mode = shown_label(*mode, "name");
    if (answer.power_mode.empty()) answer.power_mode = "mode " + shown_label(*mode, "mode");
  }
  answer.cpus_online = samples.value("jetmem_cpus_online");
  answer.cpus_present = samples.value("jetmem_cpus_present");
  add_zones(answer, samples);
  for (const Sample& sample : some_of(answer, samples, "jetmem_cooling_device_state")) {
    answer.cooling.push_back(
        {shown_label(sample, "type"), shown_label(sample, "index"), sample.value,
         samples.value("jetmem_cooling_device_max_state",
                       {{"type", sample.label("type")}, {"index", sample.label("index")}})});
  }
  add_clocks(answer, samples);
  add_engines(answer, samples);
  add_rails(answer, samples);
  print_slow_parts(answer);
  if (answer.zones.empty()) {
    explain(answer.absent, "zones", std::nullopt, now.absence_reason("thermal"));
  }
  explain(answer.absent, "throttling", answer.throttling,
          now.absence_reason("throttle", "not every throttle cause is readable"));
  explain(answer.absent, "throttling_level", answer.level,
          now.absence_reason("throttle", "no source reports how hard it is throttled"));
  if (answer.power_mode.empty()) {
    explain(answer.absent, "power_mode", std::nullopt,
            now.absence_reason("power", "no source reports a power mode"));
  }
  for (const auto& [key, value] : {std::pair{"cpus_online", &answer.cpus_online},
                                   std::pair{"cpus_present", &answer.cpus_present}}) {
    explain(answer.absent, key, *value, now.absence_reason("clocks"));
  }
  if (answer.clocks.empty()) {
    explain(answer.absent, "clocks", std::nullopt, now.absence_reason("clocks"));
  }
  if (answer.engines.empty()) {
    explain(answer.absent, "engines", std::nullopt,
            now.absence_reason("clocks", "the kernel lists none"));
  }
  if (answer.rails.empty())
    explain(answer.absent, "rails", std::nullopt, now.absence_reason("power"));
  return answer;
}

namespace {

// A metric of 0 or 1.
void describe_flag(json::Fields& v, const char* key, const std::optional<double>& value) {
  std::optional<bool> flag;
  if (value) flag = *value != 0;
  v(key, flag);
}

}  // namespace

static void describe(json::Fields& v, ThermalAnswer::Trip& trip) {
  v("kind", trip.kind);
  v("celsius", trip.celsius);
  v("bound", trip.bound);
}

static void describe(json::Fields& v, ThermalAnswer::Zone& zone) {
  v("zone", zone.zone);
  v("index", zone.index);
  v("celsius", zone.celsius);
  v("enabled", zone.enabled);
  v("trips", zone.trips);
  v.unless_empty("margin_celsius", zone.margins);
  v.absent(zone.absent);
}

static void describe(json::Fields& v, ThermalAnswer::Cooling& device) {
  v("type", device.type);
  v("index", device.index);
  v("state", device.state);
  v("max_state", device.max_state);
}

static void describe(json::Fields& v, ThermalAnswer::Clock& clock) {
  v("domain", clock.domain);
  v("clock", clock.clock);
  v("hertz", clock.hertz);
  v("max_hertz", clock.max_hertz);
  v("hardware_max_hertz", clock.hardware_max_hertz);
  v.unless_empty("governor", clock.governor);
}

static void describe(json::Fields& v, ThermalAnswer::Engine& engine) {
  v("engine", engine.engine);
  describe_flag(v, "on", engine.on);
  v("load_ratio", engine.load);
  v("hertz", engine.hertz);
  v("source", engine.source);
  v.unless_empty("load_source", engine.load_source);
  v.absent(engine.absent);
}

static void describe(json::Fields& v, ThermalAnswer::Rail& rail) {
  v("rail", rail.rail);
  v("index", rail.index);
  v("watts", rail.watts);
  v("volts", rail.volts);
  v("amperes", rail.amperes);
  v("warning_limit_amperes", rail.warning_amperes);
}

static void describe(json::Fields& v, ThermalAnswer::OverCurrent& event) {
  v("event", event.event);
  v("count", event.count);
  describe_flag(v, "throttles", event.throttles);
}

void describe_throttling(json::Fields& v, ThermalAnswer& answer) {
  v("throttling_level", answer.level);
  describe_flag(v, "throttling", answer.throttling);
  v("throttle_causes", answer.causes);
  v.unless_empty("power_mode", answer.power_mode);
}

static void describe(json::Fields& v, ThermalAnswer& answer) {
  describe_head(v, ThermalAnswer::kSchema, answer.from);
  describe_throttling(v, answer);
  v("board_alerts", answer.alerts);
  v("cpus_online", answer.cpus_online);
  v("cpus_present", answer.cpus_present);
  v("zones", answer.zones);
  v("cooling", answer.cooling);
  v("clocks", answer.clocks);
  v("engines", answer.engines);
  v("rails", answer.rails);
  v("over_current", answer.over_current);
  v("slows", answer.slows);
  v("omitted", answer.omitted);
  v.absent(answer.absent);
}

std::string thermal_json(const ThermalAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
