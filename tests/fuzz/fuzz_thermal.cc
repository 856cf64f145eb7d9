// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/sysfs/thermal.h"
#include "tests/fuzz/snapshot_input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Thermal reused;
  static jetmem::ThermalSource source;
  jetmem::Thermal fresh;
  const jetmem::Snapshot snapshot = jetmem::snapshot_of({reinterpret_cast<const char*>(data), size},
                                                        jetmem::ThermalSource::kInfo.paths);
  const bool ok = jetmem::parse_thermal(snapshot, fresh).has_value();
  if (jetmem::parse_thermal(snapshot, reused).has_value() != ok) __builtin_trap();
  if (source.parse(snapshot, {}).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.zones != reused.zones || fresh.zones.size() > 64) __builtin_trap();
  if (fresh.cooling != reused.cooling || fresh.cooling.size() > 256) __builtin_trap();
  // Whatever it was given before, no two zones have one name.
  std::set<std::pair<std::string, std::uint32_t>> names;
  for (const jetmem::Thermal::Zone& zone : source.reading().zones) {
    if (!names.insert({zone.type, zone.index}).second || zone.trips.size() > 16) __builtin_trap();
    if (zone.celsius && (*zone.celsius < -200 || *zone.celsius > 1000)) __builtin_trap();
  }
  return 0;
}
