#include "collectors/thermal.h"
#include "tests/fuzz/snapshot_input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Thermal reused;
  jetmem::Thermal fresh;
  const jetmem::Snapshot snapshot = jetmem::snapshot_of({reinterpret_cast<const char*>(data), size},
                                                        jetmem::ThermalSource::kInfo.paths);
  const bool ok = jetmem::parse_thermal(snapshot, fresh).has_value();
  if (jetmem::parse_thermal(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.zones.size() != reused.zones.size() || fresh.zones.size() > 64) __builtin_trap();
  if (fresh.cooling.size() != reused.cooling.size() || fresh.cooling.size() > 256) __builtin_trap();
  for (std::size_t i = 0; i < fresh.zones.size(); ++i) {
    const jetmem::Thermal::Zone& zone = fresh.zones[i];
    if (zone.celsius != reused.zones[i].celsius || zone.trips.size() > 16) __builtin_trap();
    if (zone.celsius && (*zone.celsius < -200 || *zone.celsius > 1000)) __builtin_trap();
  }
  return 0;
}
