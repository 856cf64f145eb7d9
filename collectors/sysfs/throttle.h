// SPDX-License-Identifier: Apache-2.0
// What slows the chip down now: throttle alerts, cooling devices that cut clocks, over-current.
// World readable, but some is asked of firmware (BPMP on Tegra), so jetmem-reader reads it.
//
// /sys/class/thermal/cooling_device<N>/{type,cur_state}, one value a file. Of these types only:
//   <part>-throttle-alert   cpu, gpu, cv0..2, soc0..2, soc012, soc345, bcpu, mcpu, tj (L4T 32 and
//                           later: userspace_alert.c, later therm_trip_event.c): 0, or 1 and more
//                           while the part's zone is above its throttling limit
//   <part>-balanced         cpu, gpu (tegra210, 4.9), and tegra-heavy, heavy, light (soctherm.c)
//   cpufreq-<cpu>, devfreq-<device>, and before 5.13 thermal-cpufreq-<n>, thermal-devfreq-<n>: by
//                           how many steps the clock is cut
//   <name>-alert            all other alerts, hot-surface-alert above all: a warning, and no
//                           throttling
// The raw state of each cooling device, fans too, is in the source thermal; here is the
// verdict.
//
// /sys/class/hwmon/hwmon<N>/ with the name "soctherm_oc": how often a rail's protection stepped in,
// since boot. Other places of the same files: /sys/devices/platform/soctherm-oc-event/hwmon.
//   oc<K>_event_cnt, oc<K>_throt_en  tegra234 (tegra234-oc-event.c), K 1 to 3. The answer of BPMP
//                                    firmware; EINVAL where it has none
//   oc<K>_irq_cnt                    tegra194 (tegra19x_oc_event.c), K 1 to 6: kept by the driver
//
// The alarm files of the rails' monitors (ina3221: curr<K>_max_alarm, curr<K>_crit_alarm) are never
// opened. They are bits of the chip's Mask/Enable register, which forgets its alerts when it is
// read (data sheet SBOS576, 8.6.2; drivers/hwmon/ina3221.c reads the register each time): where
// alerts are latched this lets go of the line that holds the chip back, and whoever else asks finds
// no alert. What they would tell is currents (the source power) against limits, and the events
// here.
//
// What is no answer is omitted and counted: denied, unreadable, malformed, powered_off (EAGAIN,
// ENODEV), beyond_bound (256 cooling devices, 48 causes, 8 events), duplicate (an event counted
// twice). While a cooling device cannot be read, "nothing slows the chip" is not said.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Throttle : Reading {
  enum class Kind : std::uint8_t { kNone, kThrottle, kWarning };
  struct Cause {
    std::string type;
    Kind kind = Kind::kNone;
    // Absent when no cooling device of this type could be read.
    std::optional<bool> active;

    bool operator==(const Cause&) const = default;
  };
  struct Event {
    std::optional<std::uint64_t> count;
    std::optional<bool> throttles;

    bool operator==(const Event&) const = default;
  };
  std::vector<Cause> causes;  // by type
  static constexpr std::size_t kMaxEvents = 8;
  std::array<Event, kMaxEvents> events;  // oc1 first

  // Whether anything slows the chip. Absent while what could is not all known, and where nothing
  // here could.
  std::optional<bool> throttling;
};

// What a cooling device of this type means here.
Throttle::Kind kind_of_cooling(std::string_view type);

// A file that cannot be read or understood leaves out its value. Errors: kAbsent when there is
// nothing of all this; when there is, and no value is available, why.
Result<void> parse_throttle(const Snapshot& snapshot, Throttle& out);

class ThrottleSource final : public ParsedSource<ThrottleSource, Throttle, parse_throttle> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
