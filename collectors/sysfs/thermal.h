// SPDX-License-Identifier: Apache-2.0
// /sys/class/thermal: temperatures, the limits set for them, and what is throttled. World readable,
// but a reading may wait for firmware (BPMP on Tegra), so jetmem-reader is asked.
//
// Format (Documentation/driver-api/thermal/sysfs-api.rst), one value a file:
//   thermal_zone<N>/type                  a name, the same on every boot. N is not.
//   thermal_zone<N>/temp                  thousandths of a degree Celsius, may be negative
//   thermal_zone<N>/mode                  "enabled" or "disabled"; not every 4.9 zone has it
//   thermal_zone<N>/trip_point_<T>_temp   as temp
//   thermal_zone<N>/trip_point_<T>_type   active, passive, hot or critical
//   thermal_zone<N>/cdev<M>/type          of a cooling device that is bound to the zone
//   thermal_zone<N>/cdev<M>_trip_point    to which of its trips; -1: to none
//   cooling_device<N>/{type,cur_state,max_state}   0: not cooling
//
// A passive trip does what its kind says only where something that slows the chip is bound to it:
// on an Orin the one at 70 C has nothing but hot-surface-alert, and clocks are cut at 99 C. An
// active one needs any cooling device; hot and critical ones need none.
//
// Zones and cooling devices are named by type and, where several share one, by an index: in the
// order of N at the first reading, and kept from then on ("cpufreq-cpu0" is one of a kind,
// "Processor" is not). Each file ends with a newline; one that does not was cut and is malformed.
//
// What is no measurement is omitted and counted:
//   powered_off  EAGAIN: the sensor's power domain is off (GPU, CV, DLA on Tegra). Older BPMP
//                drivers answer EINVAL to that and to real failures alike: such is "unreadable".
//   placeholder  below -200 C (-256000 is one driver's "off") or above 1000 C. Also the zone
//                PMIC-Die at exactly 50 or 100 C: its chip has no thermometer, only two alarms; the
//                driver says 100 (some 50) for "no alarm", 120 and 140 for the alarms, which stay.
//                And 1 to 200 thousandths where they are whole degrees of an old kernel. And a
//                cooling state of -1, the kernel's "no state" (intel_powerclamp at rest).
//   trip_unset   a limit that says "none": at or below -273 C (-2147483648, -274000), above 1000 C,
//                and 0 C or less for all but active trips (fans may well start at 0).
//   binding_unknown  whether a trip does something is not known, as what is bound to its zone could
//                not be read; neither is the distance to limits of its kind
//   denied, malformed, beyond_bound (64 zones, 16 trips a zone, 256 devices): as they say. A type
//                that is empty, longer than 64 bytes or holds control characters is malformed.
//   disabled     the distance to the limits of a disabled zone, on which the kernel does not act.
//                Its temperature stays: the driver is asked at each reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"
#include "collectors/sysfs/type_indexes.h"

namespace jetmem {

struct Thermal : Reading {
  enum class Kind : std::uint8_t { kActive, kPassive, kHot, kCritical };
  struct Trip {
    std::uint32_t number = 0;  // of trip_point_<T>_temp
    Kind kind = Kind::kActive;
    double celsius = 0;
    // Of passive and active ones: whether something is bound to it that does what the kind says.
    // Absent: not known.
    std::optional<bool> bound;

    bool operator==(const Trip&) const = default;
  };
  struct Zone {
    std::string type;
    std::uint32_t index = 0;   // among zones of this type; given by ThermalSource, not by the text
    std::uint32_t number = 0;  // the kernel's, until the next boot
    std::optional<double> celsius;
    std::optional<bool> enabled;
    std::vector<Trip> trips;  // by number

    // From the temperature up to the next limit of this kind above it that something is bound to;
    // above all of them, from the highest, and then zero or negative. Absent without temperature or
    // limit, on a disabled zone, and where the bindings are not known.
    std::optional<double> margin(Kind kind) const;
    bool operator==(const Zone&) const = default;
  };
  struct CoolingDevice {
    std::string type;
    std::uint32_t index = 0;
    std::uint32_t number = 0;
    std::optional<std::uint64_t> state;
    std::optional<std::uint64_t> max_state;

    bool operator==(const CoolingDevice&) const = default;
  };
  std::vector<Zone> zones;             // by number
  std::vector<CoolingDevice> cooling;  // by number
};

std::string_view kind_name(Thermal::Kind kind);
// Whether a cooling device that is bound to a passive trip slows something: not a fan, and not an
// alert that only warns.
bool slows_when_bound(std::string_view type);

// A file that cannot be read or understood leaves out its value; a zone or device without a
// readable type is omitted whole. Errors: kAbsent when there is neither zone nor cooling device;
// when there are, and not one has a readable type, why.
Result<void> parse_thermal(const Snapshot& snapshot, Thermal& out);

class ThermalSource final : public SourceOf<ThermalSource, Thermal> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  TypeIndexes zone_indexes_{256};
  TypeIndexes cooling_indexes_{1024};
};

}  // namespace jetmem
