// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include "collectors/sysfs/throttle.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 11> kPatterns{
    "/sys/class/thermal/cooling_device*/type",
    "/sys/class/thermal/cooling_device*/cur_state",
    "/sys/class/hwmon/hwmon0/oc*_event_cnt",
    "/sys/class/hwmon/hwmon0/oc*_irq_cnt",
    "/sys/class/hwmon/hwmon0/oc*_throt_en",
    "/sys/class/hwmon/hwmon*/oc1_event_cnt",
    "/sys/class/hwmon/hwmon*/name",
    "/sys/devices/platform/soctherm-oc-event/hwmon/hwmon*/oc2_event_cnt",
    "/sys/class/thermal",
    "jetmem:cooling devices omitted",
    "jetmem:hwmon devices omitted",
};

}  // namespace

FUZZ(input) {
  const auto [ok, fresh, reused] = parsed_twice(parse_throttle, snapshot_of(input, kPatterns));
  if (!ok) return;
  if (fresh.causes != reused.causes || fresh.causes.size() > 48) __builtin_trap();
  if (fresh.events != reused.events || fresh.throttling != reused.throttling) __builtin_trap();
  std::set<std::string> types;
  for (const Throttle::Cause& cause : fresh.causes) {
    if (!types.insert(cause.type).second || cause.type.size() > 64) __builtin_trap();
    const bool throttles = cause.kind == Throttle::Kind::kThrottle;
    // The verdict never contradicts a cause.
    if (throttles && cause.active == true && fresh.throttling != true) __builtin_trap();
    if (throttles && !cause.active && fresh.throttling == false) __builtin_trap();
  }
}
