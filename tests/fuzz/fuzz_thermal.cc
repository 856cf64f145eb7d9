// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/sysfs/thermal.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static ThermalSource source;
  const Snapshot snapshot = snapshot_of(input, ThermalSource::kInfo.paths);
  const auto [ok, fresh, reused] = parsed_twice(parse_thermal, snapshot);
  if (source.parse(snapshot, {}).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (fresh.zones != reused.zones || fresh.zones.size() > 64) __builtin_trap();
  if (fresh.cooling != reused.cooling || fresh.cooling.size() > 256) __builtin_trap();
  // Whatever it was given before, no two zones have one name.
  std::set<std::pair<std::string, std::uint32_t>> names;
  for (const Thermal::Zone& zone : source.reading().zones) {
    if (!names.insert({zone.type, zone.index}).second || zone.trips.size() > 16) __builtin_trap();
    if (zone.celsius && (*zone.celsius < -200 || *zone.celsius > 1000)) __builtin_trap();
  }
}
