// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <set>

#include "collectors/sysfs/power.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 17> kPaths{
    "/sys/class/hwmon/hwmon*/name",
    "/sys/class/hwmon/hwmon*/in*_label",
    "/sys/class/hwmon/hwmon*/in*_enable",
    "/sys/class/hwmon/hwmon*/in*_input",
    "/sys/class/hwmon/hwmon*/curr*_input",
    "/sys/class/hwmon/hwmon*/curr*_max",
    "/sys/class/hwmon/hwmon*/curr*_crit",
    "/sys/class/hwmon/hwmon*/shunt*_resistor",
    "/sys/class/hwmon/hwmon*/power1_input",
    "/sys/class/hwmon/hwmon*/power1_label",
    "/sys/class/hwmon/hwmon*/label",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/rail_name_*",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/in_voltage*_input",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/in_current*_input",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/in_power*_input",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/warn_current_limit_*",
    "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device*/crit_current_limit_*",
};

}  // namespace

FUZZ(input) {
  static PowerSource source;
  const Snapshot snapshot = snapshot_of(input, kPaths);
  const auto [ok, fresh, reused] = parsed_twice(parse_power, snapshot);
  if (source.parse(snapshot, {}).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (fresh.rails != reused.rails || fresh.rails.size() > 32) __builtin_trap();
  // Whatever it was given before, no two rails have one name.
  std::set<std::pair<std::string, std::uint32_t>> names;
  for (const Power::Rail& rail : source.reading().rails) {
    if (!names.insert({rail.name, rail.index}).second) __builtin_trap();
    if (rail.watts && (!std::isfinite(*rail.watts) || *rail.watts < 0)) __builtin_trap();
  }
}
