// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/sysfs/throttle.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPatterns =
      expanded({"/sys/class/thermal/cooling_device*/{type,cur_state}",
                "/sys/class/hwmon/hwmon0/oc*_{event_cnt,irq_cnt,throt_en}",
                "/sys/class/hwmon/hwmon*/{oc1_event_cnt,name}",
                "/sys/devices/platform/soctherm-oc-event/hwmon/hwmon*/oc2_event_cnt",
                "/sys/class/thermal", "jetmem:{cooling,hwmon} devices omitted"});
  const auto throttle = parsed_twice(parse_throttle, snapshot_of(input, kPatterns),
                                     &Throttle::causes, &Throttle::events, &Throttle::throttling);
  if (!throttle) return;
  check(throttle->causes.size() <= 48);
  std::set<std::string> types;
  for (const Throttle::Cause& cause : throttle->causes) {
    check(types.insert(cause.type).second && cause.type.size() <= 64);
    if (cause.kind != Throttle::Kind::kThrottle) continue;
    // The verdict never contradicts a cause.
    check(cause.active != true || throttle->throttling == true);
    check(cause.active || throttle->throttling != false);
  }
}
