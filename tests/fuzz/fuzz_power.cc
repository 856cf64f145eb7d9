// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>

#include "collectors/sysfs/power.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPaths = expanded(
      {"/sys/class/hwmon/hwmon*/{name,in*_label,in*_enable,in*_input,curr*_input,curr*_max,"
       "curr*_crit,shunt*_resistor,power1_input,power1_label,label}",
       "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/{rail_name_*,in_voltage*_input,"
       "in_current*_input,in_power*_input,warn_current_limit_*,crit_current_limit_*}"});
  static PowerSource source;
  const Snapshot snapshot = snapshot_of(input, kPaths);
  const auto power = parsed_twice(parse_power, snapshot, &Power::rails);
  check(source.parse(snapshot, {}).has_value() == (power != nullptr));
  if (!power) return;
  check(power->rails.size() <= 32);
  // Whatever it was given before, no two rails have one name.
  std::set<std::pair<std::string, std::uint32_t>> names;
  for (const Power::Rail& rail : source.reading().rails) {
    check(names.insert({rail.name, rail.index}).second);
    check(!rail.watts || (std::isfinite(*rail.watts) && *rail.watts >= 0));
  }
}
