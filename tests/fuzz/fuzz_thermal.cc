// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/sysfs/thermal.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static ThermalSource source;
  const Snapshot snapshot = snapshot_of(input, ThermalSource::kInfo.paths);
  const auto thermal = parsed_twice(parse_thermal, snapshot, &Thermal::zones, &Thermal::cooling);
  check(source.parse(snapshot, {}).has_value() == (thermal != nullptr));
  if (!thermal) return;
  check(thermal->zones.size() <= 64 && thermal->cooling.size() <= 256);
  // Whatever it was given before, no two zones have one name.
  std::set<std::pair<std::string, std::uint32_t>> names;
  for (const Thermal::Zone& zone : source.reading().zones) {
    check(names.insert({zone.type, zone.index}).second && zone.trips.size() <= 16);
    check(!zone.celsius || (*zone.celsius >= -200 && *zone.celsius <= 1000));
  }
}
