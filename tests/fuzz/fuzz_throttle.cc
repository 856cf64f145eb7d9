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

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Throttle reused;
  jetmem::Throttle fresh;
  const jetmem::Snapshot snapshot =
      jetmem::snapshot_of({reinterpret_cast<const char*>(data), size}, kPatterns);
  const bool ok = jetmem::parse_throttle(snapshot, fresh).has_value();
  if (jetmem::parse_throttle(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.causes != reused.causes || fresh.causes.size() > 48) __builtin_trap();
  if (fresh.events != reused.events || fresh.throttling != reused.throttling) __builtin_trap();
  std::set<std::string> types;
  for (const jetmem::Throttle::Cause& cause : fresh.causes) {
    if (!types.insert(cause.type).second || cause.type.size() > 64) __builtin_trap();
    const bool throttles = cause.kind == jetmem::Throttle::Kind::kThrottle;
    // The verdict never contradicts a cause.
    if (throttles && cause.active == true && fresh.throttling != true) __builtin_trap();
    if (throttles && !cause.active && fresh.throttling == false) __builtin_trap();
  }
  return 0;
}
