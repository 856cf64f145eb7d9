#include "collectors/thermal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cerrno>

#include "base/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kClass = "/sys/class/thermal";
constexpr std::array<std::string_view, 8> kPaths{
    "/sys/class/thermal/thermal_zone*/type",
    "/sys/class/thermal/thermal_zone*/temp",
    "/sys/class/thermal/thermal_zone*/mode",
    "/sys/class/thermal/thermal_zone*/trip_point_*_temp",
    "/sys/class/thermal/thermal_zone*/trip_point_*_type",
    "/sys/class/thermal/cooling_device*/type",
    "/sys/class/thermal/cooling_device*/cur_state",
    "/sys/class/thermal/cooling_device*/max_state",
};
constexpr std::size_t kMaxZones = 64;
constexpr std::size_t kMaxTrips = 16;
constexpr std::size_t kMaxCooling = 256;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_thermal_zone_celsius",
               .type = MetricType::kGauge,
               .help = "Temperature of the zone. Several zones of one type differ by instance.",
               .labels = {"zone", "instance"},
               .max_series = kMaxZones,
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_thermal_zone_enabled",
               .type = MetricType::kGauge,
               .help = "1 while the kernel watches the zone; 0: its limits cool and stop nothing.",
               .labels = {"zone", "instance"},
               .max_series = kMaxZones},
    Descriptor{.name = "jetmem_thermal_margin_celsius",
               .type = MetricType::kGauge,
               .help = "Degrees from the zone's temperature to its lowest limit of this kind: at 0 "
                       "passive slows the chip down, hot warns, critical shuts the machine off.",
               .labels = {"zone", "instance", "kind"},
               .max_series = kMaxZones * 3,
               .worst = Worst::kMin},
    Descriptor{.name = "jetmem_thermal_trip_celsius",
               .type = MetricType::kGauge,
               .help =
                   "A limit set for the zone: active starts a fan, passive slows the chip down, "
                   "hot warns, critical shuts the machine off.",
               .labels = {"zone", "instance", "trip", "kind"},
               .max_series = kMaxZones * kMaxTrips},
    Descriptor{.name = "jetmem_cooling_device_state",
               .type = MetricType::kGauge,
               .help = "How hard the cooling device works; 0 is off. Above 0 on a *-throttle-alert "
                       "the chip is being slowed down now; on a fan it is normal.",
               .labels = {"type", "instance"},
               .max_series = kMaxCooling,
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_cooling_device_max_state",
               .type = MetricType::kGauge,
               .help = "The hardest that the cooling device can work.",
               .labels = {"type", "instance"},
               .max_series = kMaxCooling},
};
enum Metric : std::size_t { kZone, kEnabled, kMargin, kTrip, kState, kMaxState };

constexpr std::array kMarginKinds{Thermal::Kind::kPassive, Thermal::Kind::kHot,
                                  Thermal::Kind::kCritical};

constexpr std::string_view kUnreadable = "unreadable";
constexpr std::string_view kMalformed = "malformed";
constexpr std::string_view kPlaceholder = "placeholder";
constexpr std::string_view kBeyondBound = "beyond_bound";

// A file as the snapshot has it; `present` tells a missing record from an empty file.
struct RawFile {
  bool present = false;
  FileText file{};

  void set(const FileText& given) {
    present = true;
    file = given;
  }
  bool gone() const { return !present || file.error == ENOENT || file.error == ENODEV; }
};

struct RawTrip {
  std::uint32_t number = 0;
  RawFile temp;
  RawFile type;
};

struct RawZone {
  std::uint32_t number = 0;
  RawFile type;
  RawFile temp;
  RawFile mode;
  std::vector<RawTrip> trips;
};

struct RawCooling {
  std::uint32_t number = 0;
  RawFile type;
  RawFile cur_state;
  RawFile max_state;
};

std::string_view reason_of(const FileText& file) {
  if (file.error == EAGAIN) return "powered_off";
  return file.error == EACCES || file.error == EPERM ? "denied" : kUnreadable;
}

// The whole text as a number of 32 bits: "7", not "7x".
std::optional<std::uint32_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

// The item of this number, made if need be; null at the bound. Few items, asked for in runs.
template <class Item>
Item* item_of(std::vector<Item>& items, std::uint32_t number, std::size_t bound) {
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (item->number == number) return &*item;
  }
  if (items.size() >= bound) return nullptr;
  items.emplace_back().number = number;
  return &items.back();
}

template <class Item>
void sort_by_number(std::vector<Item>& items) {
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.number < b.number; });
}

// ACPI numbers the active trips in their type: "active[0]" or "active0".
std::optional<Thermal::Kind> kind_of(std::string_view text) {
  text = trim(text);
  for (const Thermal::Kind kind : {Thermal::Kind::kActive, Thermal::Kind::kPassive,
                                   Thermal::Kind::kHot, Thermal::Kind::kCritical}) {
    std::string_view rest = text;
    if (!take_prefix(rest, kind_name(kind))) continue;
    if (rest.find_first_not_of("[]0123456789") == std::string_view::npos) return kind;
  }
  return std::nullopt;
}

bool is_placeholder(std::string_view type, std::int64_t millidegrees) {
  if (millidegrees < -200'000 || millidegrees > 1'000'000) return true;
  return type == "PMIC-Die" && (millidegrees == 50'000 || millidegrees == 100'000);
}

bool is_unset(Thermal::Kind kind, std::int64_t millidegrees) {
  if (millidegrees <= -273'000 || millidegrees > 1'000'000) return true;
  return kind != Thermal::Kind::kActive && millidegrees <= 0;
}

class Collector {
 public:
  explicit Collector(Thermal& out) : out_(out) {}

  void take(const FileText& file) {
    std::string_view rest = file.path;
    if (!take_prefix(rest, kClass)) return;
    if (rest.empty()) {
      if (!file.ok()) list_error_ = file;
      return;
    }
    if (!take_prefix(rest, "/")) return;
    const std::size_t slash = rest.find('/');
    std::string_view folder = rest.substr(0, slash);
    // A folder itself is here only when it could not be listed.
    const std::string_view leaf =
        slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (take_prefix(folder, "thermal_zone")) {
      if (const auto number = small_number(folder)) take_zone_file(*number, leaf, file);
    } else if (take_prefix(folder, "cooling_device")) {
      if (const auto number = small_number(folder)) take_cooling_file(*number, leaf, file);
    }
  }

  Result<void> finish() {
    sort_by_number(zones_);
    sort_by_number(cooling_);
    for (RawZone& raw : zones_) finish_zone(raw);
    for (const RawCooling& raw : cooling_) finish_cooling(raw);
    if (!out_.zones.empty() || !out_.cooling.empty()) return {};
    if (first_type_error_) return tl::unexpected(std::move(*first_type_error_));
    if (list_error_ && list_error_->as_error().code != Errc::kAbsent) {
      return tl::unexpected(list_error_->as_error());
    }
    return fail(Errc::kAbsent, "no thermal zone and no cooling device on this machine");
  }

 private:
  void add_absent(std::string_view reason) { out_.absent.add(reason); }

  void take_zone_file(std::uint32_t number, std::string_view leaf, const FileText& file) {
    RawZone* zone = item_of(zones_, number, kMaxZones);
    if (zone == nullptr) {
      // Once for each zone: each has one type.
      if (leaf == "type") add_absent(kBeyondBound);
    } else if (leaf.empty()) {
      // Its trips could not be listed. A zone that went away meanwhile is no news.
      if (file.error != ENOENT) add_absent(reason_of(file));
    } else if (leaf == "type") {
      zone->type.set(file);
    } else if (leaf == "temp") {
      zone->temp.set(file);
    } else if (leaf == "mode") {
      zone->mode.set(file);
    } else if (take_prefix(leaf, "trip_point_")) {
      take_trip_file(*zone, leaf, file);
    }
  }

  void take_trip_file(RawZone& zone, std::string_view leaf, const FileText& file) {
    const std::size_t underscore = leaf.find('_');
    if (underscore == std::string_view::npos) return;
    const auto number = small_number(leaf.substr(0, underscore));
    const std::string_view what = leaf.substr(underscore + 1);
    if (!number || (what != "temp" && what != "type")) return;
    RawTrip* trip = item_of(zone.trips, *number, kMaxTrips);
    if (trip == nullptr) {
      if (what == "temp") add_absent(kBeyondBound);
      return;
    }
    (what == "temp" ? trip->temp : trip->type).set(file);
  }

  void take_cooling_file(std::uint32_t number, std::string_view leaf, const FileText& file) {
    RawCooling* device = item_of(cooling_, number, kMaxCooling);
    if (device == nullptr) {
      if (leaf == "type") add_absent(kBeyondBound);
    } else if (leaf == "type") {
      device->type.set(file);
    } else if (leaf == "cur_state") {
      device->cur_state.set(file);
    } else if (leaf == "max_state") {
      device->max_state.set(file);
    }
  }

  // The name that makes a zone or device one; without it nothing of it can be told.
  template <class Item>
  bool name(const RawFile& type, std::vector<Item>& items, Item& item) {
    if (type.gone()) return false;
    item.type = trim(type.file.text);
    if (!type.file.ok() || item.type.empty()) {
      add_absent(type.file.ok() ? kMalformed : reason_of(type.file));
      if (!first_type_error_) {
        first_type_error_ = type.file.ok()
                                ? Error{Errc::kMalformed, std::string(type.file.path) + ": empty"}
                                : type.file.as_error();
      }
      return false;
    }
    item.instance = static_cast<std::uint32_t>(std::count_if(
        items.begin(), items.end(), [&](const Item& other) { return other.type == item.type; }));
    return true;
  }

  void finish_zone(RawZone& raw) {
    Thermal::Zone zone;
    zone.number = raw.number;
    if (!name(raw.type, out_.zones, zone)) {
      // A zone that went away between two files is no news; a temperature without a name is.
      if (raw.type.gone() && raw.temp.present && raw.temp.file.ok()) add_absent(kUnreadable);
      return;
    }

    if (!raw.temp.present || !raw.temp.file.ok()) {
      add_absent(raw.temp.present ? reason_of(raw.temp.file) : kUnreadable);
    } else if (const auto millidegrees = parse_i64(raw.temp.file.text); !millidegrees) {
      add_absent(kMalformed);
    } else if (is_placeholder(zone.type, *millidegrees)) {
      add_absent(kPlaceholder);
    } else {
      zone.celsius = static_cast<double>(*millidegrees) / 1000;
    }

    if (!raw.mode.gone()) {
      const std::string_view mode = trim(raw.mode.file.text);
      if (!raw.mode.file.ok()) {
        add_absent(reason_of(raw.mode.file));
      } else if (mode != "enabled" && mode != "disabled") {
        add_absent(kMalformed);
      } else {
        zone.enabled = mode == "enabled";
      }
    }

    sort_by_number(raw.trips);
    for (const RawTrip& trip : raw.trips) finish_trip(trip, zone);
    out_.zones.push_back(std::move(zone));
  }

  void finish_trip(const RawTrip& raw, Thermal::Zone& zone) {
    if (raw.temp.gone() && raw.type.gone()) return;
    for (const RawFile* file : {&raw.temp, &raw.type}) {
      if (file->present && file->file.ok()) continue;
      add_absent(file->present ? reason_of(file->file) : kUnreadable);
      return;
    }
    const auto millidegrees = parse_i64(raw.temp.file.text);
    const auto kind = kind_of(raw.type.file.text);
    if (!millidegrees || !kind) {
      add_absent(kMalformed);
    } else if (is_unset(*kind, *millidegrees)) {
      add_absent("trip_unset");
    } else {
      zone.trips.push_back({raw.number, *kind, static_cast<double>(*millidegrees) / 1000});
    }
  }

  void finish_cooling(const RawCooling& raw) {
    Thermal::CoolingDevice device;
    device.number = raw.number;
    if (!name(raw.type, out_.cooling, device)) return;
    device.state = state(raw.cur_state);
    device.max_state = state(raw.max_state);
    out_.cooling.push_back(std::move(device));
  }

  std::optional<std::uint64_t> state(const RawFile& raw) {
    if (!raw.present || !raw.file.ok()) {
      add_absent(raw.present ? reason_of(raw.file) : kUnreadable);
      return std::nullopt;
    }
    const auto value = parse_u64(raw.file.text);
    if (!value) add_absent(parse_i64(raw.file.text) == -1 ? kPlaceholder : kMalformed);
    return value;
  }

  Thermal& out_;
  std::vector<RawZone> zones_;
  std::vector<RawCooling> cooling_;
  std::optional<FileText> list_error_;
  std::optional<Error> first_type_error_;
};

}  // namespace

const SourceInfo ThermalSource::kInfo{
    .name = "thermal",
    .what = "temperatures, their limits, and which cooling devices are at work",
    .paths = kPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(5),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "read access to /sys/class/thermal for jetmem-reader, or run as root",
    .metrics = kMetrics,
    // 64 zones of 3 files and 16 trips, 256 cooling devices, and some beyond to be counted.
    .limits = {.file_bytes = 4096, .total_bytes = 1U << 20, .files = 4096},
};

std::string_view kind_name(Thermal::Kind kind) {
  switch (kind) {
    case Thermal::Kind::kActive:
      return "active";
    case Thermal::Kind::kPassive:
      return "passive";
    case Thermal::Kind::kHot:
      return "hot";
    case Thermal::Kind::kCritical:
      break;
  }
  return "critical";
}

std::optional<double> Thermal::Zone::margin(Kind kind) const {
  if (!celsius || enabled == false) return std::nullopt;
  std::optional<double> lowest;
  for (const Trip& trip : trips) {
    if (trip.kind == kind && (!lowest || trip.celsius < *lowest)) lowest = trip.celsius;
  }
  if (!lowest) return std::nullopt;
  // Both are whole millidegrees: without the rounding 70 - 71.218 prints as -1.2180000000000035.
  return std::round((*lowest - *celsius) * 1000) / 1000;
}

Result<void> parse_thermal(const Snapshot& snapshot, Thermal& out) {
  out.zones.clear();
  out.cooling.clear();
  out.absent.reset();
  Collector collector(out);
  for (std::size_t i = 0; i < snapshot.size(); ++i) collector.take(snapshot[i]);
  return collector.finish();
}

Result<void> ThermalSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  return parse_thermal(snapshot, reading_);
}

void ThermalSource::write(SampleWriter& out, WriteContext& context) const {
  for (const AbsentValues::Count& entry : reading_.absent.counts()) {
    if (entry.count > 0) context.absent.add(entry.reason, entry.count);
  }
  for (const Thermal::Zone& zone : reading_.zones) {
    if (zone.celsius) out.put(kMetrics[kZone], *zone.celsius, zone.type, zone.instance);
    if (zone.enabled) out.put(kMetrics[kEnabled], *zone.enabled ? 1 : 0, zone.type, zone.instance);
    for (const Thermal::Kind kind : kMarginKinds) {
      if (const auto margin = zone.margin(kind)) {
        out.put(kMetrics[kMargin], *margin, zone.type, zone.instance, kind_name(kind));
      }
    }
    for (const Thermal::Trip& trip : zone.trips) {
      out.put(kMetrics[kTrip], trip.celsius, zone.type, zone.instance, trip.number,
              kind_name(trip.kind));
    }
    const bool has_limit =
        std::any_of(zone.trips.begin(), zone.trips.end(),
                    [](const Thermal::Trip& trip) { return trip.kind != Thermal::Kind::kActive; });
    if (zone.enabled == false && zone.celsius && has_limit) context.absent.add("disabled");
  }
  for (const Thermal::CoolingDevice& device : reading_.cooling) {
    if (device.state) {
      out.put(kMetrics[kState], static_cast<double>(*device.state), device.type, device.instance);
    }
    if (device.max_state) {
      out.put(kMetrics[kMaxState], static_cast<double>(*device.max_state), device.type,
              device.instance);
    }
  }
}

}  // namespace jetmem
