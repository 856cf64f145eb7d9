// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/thermal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <variant>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"
#include "collectors/sysfs/throttle.h"

namespace jetmem {
namespace {

constexpr std::string_view kClass = "/sys/class/thermal";
constexpr std::size_t kMaxThermalZones = 64;
constexpr std::size_t kMaxTrips = 16;
constexpr std::size_t kMaxBindings = 64;
constexpr std::size_t kMaxCooling = 256;

constexpr std::array kThermalMetrics{
    gauge("jetmem_thermal_zone_celsius",
          "Temperature of the zone. Several zones of one type differ by index.", {"zone", "index"},
          kMaxThermalZones, Worst::kMax),
    gauge("jetmem_thermal_zone_enabled",
          "1 while the kernel monitors the zone; 0: its limits neither cool nor stop anything.",
          {"zone", "index"}, kMaxThermalZones),
    gauge("jetmem_thermal_margin_celsius",
          "Degrees from the zone's temperature up to its next limit of this kind; once all are "
          "exceeded, from the highest, as zero or less. At its limit active starts a fan, "
          "passive slows the chip down, hot warns, critical shuts the machine off. Passive and "
          "active limits count only where jetmem_thermal_trip_bound is 1.",
          {"zone", "index", "kind"}, kMaxThermalZones * 4, Worst::kMin),
    gauge("jetmem_thermal_trip_celsius",
          "A limit set for the zone: active starts a fan, passive slows the chip down, hot "
          "warns, critical shuts the machine off.",
          {"zone", "index", "trip", "kind"}, kMaxThermalZones* kMaxTrips),
    gauge("jetmem_thermal_trip_bound",
          "1 if a cooling device is bound to this trip that does what its kind means: for passive "
          "one that slows the chip, for active any. 0: none is, as at 70 C on an Orin, where only "
          "hot-surface-alert is bound. Absent for hot and critical trips, which need none, and "
          "where cdev*_trip_point cannot be read.",
          {"zone", "index", "trip", "kind"}, kMaxThermalZones* kMaxTrips),
    gauge("jetmem_cooling_device_state",
          "How hard the cooling device works; 0 is off. Above 0 on a *-throttle-alert the chip "
          "is being slowed down now; on a fan it is normal.",
          {"type", "index"}, kMaxCooling, Worst::kMax),
    gauge("jetmem_cooling_device_max_state", "The hardest that the cooling device can work.",
          {"type", "index"}, kMaxCooling),
};
enum ThermalMetric : std::size_t { kZone, kEnabled, kMargin, kTrip, kBound, kState, kMaxState };

constexpr std::array kTripKinds{Thermal::Kind::kActive, Thermal::Kind::kPassive,
                                Thermal::Kind::kHot, Thermal::Kind::kCritical};

constexpr std::string_view kUnreadable = "unreadable";
constexpr std::string_view kPlaceholder = "placeholder";

struct RawTrip {
  std::uint32_t number = 0;
  Record temp = kNoRecord;
  Record type = kNoRecord;
};

struct RawBinding {
  std::uint32_t number = 0;
  Record type = kNoRecord;
  Record trip = kNoRecord;
};

struct RawZone {
  std::uint32_t number = 0;
  Record type = kNoRecord;
  Record temp = kNoRecord;
  Record mode = kNoRecord;
  BoundedList<RawTrip, kMaxTrips> trips;
  BoundedList<RawBinding, kMaxBindings> bindings;
  bool more_bindings = false;  // that could not be listed, or are too many
};

struct RawCooling {
  std::uint32_t number = 0;
  Record type = kNoRecord;
  Record cur_state = kNoRecord;
  Record max_state = kNoRecord;
};

struct ThermalFile {
  std::string_view pattern;
  std::variant<Record RawZone::*, Record RawTrip::*, Record RawBinding::*, Record RawCooling::*> of;
};
constexpr std::array<ThermalFile, 10> kThermalFiles{{
    {"/sys/class/thermal/thermal_zone*/type", &RawZone::type},
    {"/sys/class/thermal/thermal_zone*/temp", &RawZone::temp},
    {"/sys/class/thermal/thermal_zone*/mode", &RawZone::mode},
    {"/sys/class/thermal/thermal_zone*/trip_point_*_temp", &RawTrip::temp},
    {"/sys/class/thermal/thermal_zone*/trip_point_*_type", &RawTrip::type},
    // Finds "cdev0_weight/type", too: no number, and so none.
    {"/sys/class/thermal/thermal_zone*/cdev*/type", &RawBinding::type},
    {"/sys/class/thermal/thermal_zone*/cdev*_trip_point", &RawBinding::trip},
    {"/sys/class/thermal/cooling_device*/type", &RawCooling::type},
    {"/sys/class/thermal/cooling_device*/cur_state", &RawCooling::cur_state},
    {"/sys/class/thermal/cooling_device*/max_state", &RawCooling::max_state},
}};
constexpr auto kThermalPaths = patterns_of(kThermalFiles);

std::string_view reason_of_thermal(const FileText& file) {
  return file.error == EAGAIN ? "powered_off" : reason_of_denied(file.error);
}

// What is wrong with the text of a file "type"; empty when it is a name.
std::string_view fault_of_name(std::string_view text) {
  const auto name = one_value(text);
  if (!name) return text.empty() ? "empty" : "cut off: no newline at its end";
  if (name->empty()) return "empty";
  if (name->size() > kMaxLabelBytes) return "longer than 64 bytes";
  return is_name(*name) ? "" : "control characters in it";
}

// ACPI numbers the active trips in their type: "active[0]" or "active0".
std::optional<Thermal::Kind> kind_of(std::string_view text) {
  const auto value = one_value(text);
  if (!value) return std::nullopt;
  for (const Thermal::Kind kind : kTripKinds) {
    std::string_view rest = *value;
    if (!take_prefix(rest, kind_name(kind))) continue;
    if (rest.find_first_not_of("[]0123456789") == std::string_view::npos) return kind;
  }
  return std::nullopt;
}

bool is_whole_degrees(std::int64_t millidegrees) { return millidegrees > 0 && millidegrees <= 200; }

// Old vendor kernels print whole degrees: 48 is 0.048 C only where another zone is as cold.
bool is_placeholder(std::string_view type, std::int64_t millidegrees, bool is_cold) {
  if (millidegrees < -200'000 || millidegrees > 1'000'000) return true;
  if (is_whole_degrees(millidegrees)) return !is_cold;
  return type == "PMIC-Die" && (millidegrees == 50'000 || millidegrees == 100'000);
}

bool is_unset(Thermal::Kind kind, std::int64_t millidegrees) {
  if (millidegrees <= -273'000 || millidegrees > 1'000'000) return true;
  return kind != Thermal::Kind::kActive && millidegrees <= 0;
}

bool needs_binding(Thermal::Kind kind) {
  return kind == Thermal::Kind::kActive || kind == Thermal::Kind::kPassive;
}

class ThermalFiles {
 public:
  ThermalFiles(const Snapshot& snapshot, Thermal& out) : snapshot_(snapshot), out_(out) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    zones_.sort_by(&RawZone::number);
    cooling_.sort_by(&RawCooling::number);
    for (RawZone& raw : zones_) finish_zone(raw);
    for (const RawCooling& raw : cooling_) finish_cooling(raw);
    if (!out_.zones.empty() || !out_.cooling.empty()) return {};
    if (first_bad_type_ != kNoRecord) return tl::unexpected(error_of_type(file(first_bad_type_)));
    if (list_error_ != kNoRecord && file(list_error_).as_error().code != Errc::kAbsent) {
      return tl::unexpected(file(list_error_).as_error());
    }
    return fail(Errc::kAbsent, "no thermal zone and no cooling device on this machine");
  }

 private:
  FileText file(Record record) const { return snapshot_[static_cast<std::size_t>(record)]; }
  bool gone(Record record) const {
    return record == kNoRecord || file(record).error == ENOENT || file(record).error == ENODEV;
  }

  void add_absent(std::string_view reason) { out_.absent.add(reason); }

  // The file's text; without it, why is counted.
  std::optional<std::string_view> text_of(Record record) {
    if (record != kNoRecord && file(record).ok()) return file(record).text;
    add_absent(record == kNoRecord ? kUnreadable : reason_of_thermal(file(record)));
    return std::nullopt;
  }

  // Of the zone and its part, or of the cooling device.
  using Numbers = std::array<std::uint32_t, 2>;

  void take(Record record) {
    const FileText file = this->file(record);
    if (file.path == kClass && !file.ok()) list_error_ = record;
    Numbers numbers{};
    // From the pattern of the file before on, which is mostly of the same.
    for (std::size_t i = 0; i < kThermalFiles.size(); ++i) {
      const ThermalFile& known = kThermalFiles[row_];
      if (capture(known.pattern, file.path, numbers)) {
        return std::visit([&](auto leaf) { put(numbers, leaf, record); }, known.of);
      }
      row_ = (row_ + 1) % kThermalFiles.size();
    }
    // A folder itself is here only when it could not be listed.
    if (!capture("/sys/class/thermal/thermal_zone*", file.path, numbers)) return;
    RawZone* const zone = zones_.find_or_add(&RawZone::number, numbers[0]);
    if (zone == nullptr) return;
    // A zone that went away meanwhile is no news.
    if (file.error != ENOENT) add_absent(reason_of_thermal(file));
    zone->more_bindings = true;
  }

  // False at the bound.
  template <class Raw, std::size_t N>
  static bool put(BoundedList<Raw, N>& list, std::uint32_t number, Record Raw::*leaf,
                  Record record) {
    Raw* const raw = list.find_or_add(&Raw::number, number);
    if (raw != nullptr) raw->*leaf = record;
    return raw != nullptr;
  }
  // What is beyond it counts once: each has one type, or temperature.
  void put(const Numbers& numbers, Record RawZone::*leaf, Record record) {
    const bool fits = put(zones_, numbers[0], leaf, record);
    if (!fits && leaf == &RawZone::type) add_absent(kBeyondBound);
  }
  void put(const Numbers& numbers, Record RawTrip::*leaf, Record record) {
    RawZone* const zone = zones_.find_or_add(&RawZone::number, numbers[0]);
    const bool fits = zone == nullptr || put(zone->trips, numbers[1], leaf, record);
    if (!fits && leaf == &RawTrip::temp) add_absent(kBeyondBound);
  }
  void put(const Numbers& numbers, Record RawBinding::*leaf, Record record) {
    RawZone* const zone = zones_.find_or_add(&RawZone::number, numbers[0]);
    const bool fits = zone == nullptr || put(zone->bindings, numbers[1], leaf, record);
    if (!fits) zone->more_bindings = true;
  }
  void put(const Numbers& numbers, Record RawCooling::*leaf, Record record) {
    const bool fits = put(cooling_, numbers[0], leaf, record);
    if (!fits && leaf == &RawCooling::type) add_absent(kBeyondBound);
  }

  static Error error_of_type(const FileText& type) {
    if (!type.ok()) return type.as_error();
    return Error{Errc::kMalformed,
                 std::string(type.path) + ": " + std::string(fault_of_name(type.text))};
  }

  // The name that makes a zone or device one; without it none of its values can be named.
  std::optional<std::string_view> name_of(Record type) {
    if (gone(type)) return std::nullopt;
    const FileText file = this->file(type);
    if (file.ok() && fault_of_name(file.text).empty()) return trim(file.text);
    add_absent(file.ok() ? kMalformed : reason_of_thermal(file));
    if (first_bad_type_ == kNoRecord) first_bad_type_ = type;
    return std::nullopt;
  }

  void finish_zone(RawZone& raw) {
    const auto name = name_of(raw.type);
    if (!name) {
      // A zone that went away between two files is no news; a temperature without a name is.
      if (gone(raw.type) && raw.temp != kNoRecord && file(raw.temp).ok()) add_absent(kUnreadable);
      return;
    }
    Thermal::Zone& zone = out_.zones.emplace_back();
    zone.type = *name;
    zone.number = raw.number;
    finish_temperature(raw.temp, zone);
    if (!gone(raw.mode)) finish_mode(raw.mode, zone);
    raw.trips.sort_by(&RawTrip::number);
    for (const RawTrip& trip : raw.trips) finish_trip(trip, zone);
    for (Thermal::Trip& trip : zone.trips) {
      if (!needs_binding(trip.kind)) continue;
      trip.bound = is_bound(raw, trip);
      if (!trip.bound) add_absent("binding_unknown");
    }
  }

  void finish_temperature(Record record, Thermal::Zone& zone) {
    const auto text = text_of(record);
    if (!text) return;
    const auto millidegrees = one_i64(*text);
    if (!millidegrees) {
      add_absent(kMalformed);
    } else if (is_placeholder(zone.type, *millidegrees, is_cold())) {
      add_absent(kPlaceholder);
    } else {
      zone.celsius = static_cast<double>(*millidegrees) / 1000;
    }
  }

  // Whether a zone is near 0 C that surely counts in millidegrees.
  bool is_cold() const {
    return std::any_of(zones_.begin(), zones_.end(), [&](const RawZone& zone) {
      if (zone.temp == kNoRecord || !file(zone.temp).ok()) return false;
      const auto millidegrees = one_i64(file(zone.temp).text);
      return millidegrees && *millidegrees > -60'000 && *millidegrees < 20'000 &&
             (*millidegrees < -200 || *millidegrees > 200);
    });
  }

  void finish_mode(Record record, Thermal::Zone& zone) {
    const auto text = text_of(record);
    if (!text) return;
    const auto mode = one_value(*text);
    if (mode != "enabled" && mode != "disabled") {
      add_absent(kMalformed);
    } else {
      zone.enabled = mode == "enabled";
    }
  }

  void finish_trip(const RawTrip& raw, Thermal::Zone& zone) {
    if (gone(raw.temp) && gone(raw.type)) return;
    const auto temp = text_of(raw.temp);
    if (!temp) return;
    const auto type = text_of(raw.type);
    if (!type) return;
    const auto millidegrees = one_i64(*temp);
    const auto kind = kind_of(*type);
    if (!millidegrees || !kind) {
      add_absent(kMalformed);
    } else if (is_unset(*kind, *millidegrees)) {
      add_absent("trip_unset");
    } else {
      zone.trips.push_back(
          {raw.number, *kind, static_cast<double>(*millidegrees) / 1000, std::nullopt});
    }
  }

  // Whether something is bound to the trip that does what its kind says.
  std::optional<bool> is_bound(const RawZone& zone, const Thermal::Trip& trip) const {
    bool unknown = zone.more_bindings;
    for (const RawBinding& binding : zone.bindings) {
      // One that went away between two files.
      if (gone(binding.type) && gone(binding.trip)) continue;
      std::optional<std::int64_t> number;
      if (binding.trip != kNoRecord) number = one_i64(file(binding.trip).text);
      if (number && *number != static_cast<std::int64_t>(trip.number)) continue;
      std::optional<std::string_view> type;
      if (binding.type != kNoRecord) type = one_name(file(binding.type).text);
      const bool is_passive = trip.kind == Thermal::Kind::kPassive;
      if (type && is_passive && !slows_when_bound(*type)) continue;
      if (number && (type || !is_passive)) return true;
      unknown = true;
    }
    return unknown ? std::nullopt : std::optional(false);
  }

  void finish_cooling(const RawCooling& raw) {
    const auto name = name_of(raw.type);
    if (!name) return;
    Thermal::CoolingDevice& device = out_.cooling.emplace_back();
    device.type = *name;
    device.number = raw.number;
    device.state = state(raw.cur_state);
    device.max_state = state(raw.max_state);
  }

  std::optional<std::uint64_t> state(Record record) {
    const auto text = text_of(record);
    if (!text) return std::nullopt;
    const auto value = one_u64(*text);
    if (!value) add_absent(one_i64(*text) == -1 ? kPlaceholder : kMalformed);
    return value;
  }

  const Snapshot& snapshot_;
  Thermal& out_;
  BoundedList<RawZone, kMaxThermalZones> zones_;
  BoundedList<RawCooling, kMaxCooling> cooling_;
  std::size_t row_ = 0;  // of kThermalFiles
  Record list_error_ = kNoRecord;
  Record first_bad_type_ = kNoRecord;
};

}  // namespace

const SourceInfo ThermalSource::kInfo{
    .name = "thermal",
    .what = "temperatures, their limits, and which cooling devices are at work",
    .paths = kThermalPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(5),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "read access to /sys/class/thermal for jetmem-reader, or run as root",
    .metrics = kThermalMetrics,
    // 64 zones of 3 files, 16 trips and a dozen bindings (of four names each), 256 cooling devices,
    // and some beyond to be counted.
    .limits = {.file_bytes = 4096, .total_bytes = 1U << 20, .files = 8192},
};

std::string_view kind_name(Thermal::Kind kind) {
  static constexpr std::array<std::string_view, 4> kNames{"active", "passive", "hot", "critical"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool slows_when_bound(std::string_view type) {
  const Throttle::Kind kind = kind_of_cooling(type);
  if (kind != Throttle::Kind::kNone) return kind == Throttle::Kind::kThrottle;
  // "pwm-fan", ACPI's "Fan". What else is bound to a passive limit ("Processor") is to slow down.
  constexpr std::string_view kFan = "fan";
  return std::search(type.begin(), type.end(), kFan.begin(), kFan.end(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         }) == type.end();
}

std::optional<double> Thermal::Zone::margin(Kind kind) const {
  if (!celsius || enabled == false) return std::nullopt;
  std::optional<double> next;
  std::optional<double> highest;
  for (const Trip& trip : trips) {
    if (trip.kind != kind) continue;
    if (needs_binding(kind)) {
      if (!trip.bound) return std::nullopt;
      if (!*trip.bound) continue;
    }
    // The kernel acts at the limit itself: one that is reached is not the next.
    if (trip.celsius > *celsius && (!next || trip.celsius < *next)) next = trip.celsius;
    if (!highest || trip.celsius > *highest) highest = trip.celsius;
  }
  if (!highest) return std::nullopt;
  // Both are whole millidegrees: without the rounding 70 - 71.218 prints as -1.2180000000000035.
  return std::round((next.value_or(*highest) - *celsius) * 1000) / 1000;
}

Result<void> parse_thermal(const Snapshot& snapshot, Thermal& out) {
  out = {};
  return ThermalFiles(snapshot, out).run();
}

Result<void> ThermalSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  if (auto ok = parse_thermal(snapshot, reading_); !ok) return ok;
  zone_indexes_.next_reading();
  cooling_indexes_.next_reading();
  // By number, so that at the first reading the indexes are in the numbers' order.
  for (Thermal::Zone& zone : reading_.zones) {
    zone.index = zone_indexes_.of(zone.type, zone.number);
  }
  for (Thermal::CoolingDevice& device : reading_.cooling) {
    device.index = cooling_indexes_.of(device.type, device.number);
  }
  return {};
}

void ThermalSource::write(SampleWriter& out, WriteContext& context) const {
  for (const Thermal::Zone& zone : reading_.zones) {
    out.put(kThermalMetrics[kZone], zone.celsius, zone.type, zone.index);
    out.put(kThermalMetrics[kEnabled], zone.enabled, zone.type, zone.index);
    for (const Thermal::Kind kind : kTripKinds) {
      out.put(kThermalMetrics[kMargin], zone.margin(kind), zone.type, zone.index, kind_name(kind));
    }
    for (const Thermal::Trip& trip : zone.trips) {
      out.put(kThermalMetrics[kTrip], trip.celsius, zone.type, zone.index, trip.number,
              kind_name(trip.kind));
      out.put(kThermalMetrics[kBound], trip.bound, zone.type, zone.index, trip.number,
              kind_name(trip.kind));
    }
    if (zone.enabled == false && zone.celsius && !zone.trips.empty()) {
      context.absent.add("disabled");
    }
  }
  for (const Thermal::CoolingDevice& device : reading_.cooling) {
    out.put(kThermalMetrics[kState], device.state, device.type, device.index);
    out.put(kThermalMetrics[kMaxState], device.max_state, device.type, device.index);
  }
}

}  // namespace jetmem
