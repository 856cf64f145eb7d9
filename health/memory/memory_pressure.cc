// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_pressure.h"

#include <algorithm>
#include <array>

namespace jetmem {
namespace {

constexpr std::array kMemoryPressureMetrics{
    gauge("jetmem_memory_pressure_level",
          "Memory pressure: 0 none; 1 the kernel reclaims caches, normal for a moment; 2 programs "
          "stall on memory; 3 almost everything stalls. From pressure stall information and zone "
          "watermarks."),
};

constexpr std::array<std::string_view, 2> kMemoryPressureSources{"pressure", "zoneinfo"};

// What a request finds in the zone, whose free pages are known.
std::uint64_t usable(const Zoneinfo::Zone& zone, bool movable) {
  const std::uint64_t cma = movable ? 0 : zone.free_cma.value_or(0);
  const std::uint64_t kept = cma + zone.protection.value_or(0);
  return *zone.free > kept ? *zone.free - kept : 0;
}

}  // namespace

std::optional<PressureLevel> pressure_level(const Pressure& pressure) {
  if (!pressure.memory || !pressure.memory->some) return std::nullopt;
  const auto& some_10s = pressure.memory->some->average[0];
  if (!some_10s) return std::nullopt;
  const double some = *some_10s;
  double full = 0;  // what a kernel without this line knows of it
  if (pressure.memory->full) {
    const auto& full_10s = pressure.memory->full->average[0];
    // Never more than `some`.
    if (!full_10s && some >= kReclaimSome) return std::nullopt;
    full = full_10s.value_or(0);
  }
  if (full >= kSevereFull) return PressureLevel::kSevere;
  if (full >= kStallsFull || some >= kStallsSome) return PressureLevel::kStalls;
  return some >= kReclaimSome ? PressureLevel::kReclaim : PressureLevel::kNone;
}

std::optional<PressureLevel> pressure_level(const Zoneinfo& zoneinfo) {
  const auto& zones = zoneinfo.zones;
  // The one that is missing may have room.
  if (!zoneinfo.whole) return std::nullopt;
  const bool movable = std::any_of(zones.begin(), zones.end(), [](const Zoneinfo::Zone& zone) {
    return zone.is_populated() && zone.id.name == "Movable";
  });
  std::optional<PressureLevel> level;
  for (const Zoneinfo::Zone& zone : zones) {
    if (!zone.is_populated()) continue;
    if (!zone.protection || !zone.free || !zone.low || !zone.min) return std::nullopt;
    const std::uint64_t found = usable(zone, movable);
    const PressureLevel here = found > *zone.low   ? PressureLevel::kNone
                               : found > *zone.min ? PressureLevel::kReclaim
                                                   : PressureLevel::kStalls;
    level = std::min(level.value_or(here), here);
  }
  return level;
}

std::optional<PressureLevel> pressure_level(const Pressure* pressure, const Zoneinfo* zones) {
  const auto waited = pressure == nullptr ? std::nullopt : pressure_level(*pressure);
  const auto left = zones == nullptr ? std::nullopt : pressure_level(*zones);
  // An absent one is less than any.
  return std::max(waited, left);
}

const DerivedInfo MemoryPressure::kInfo{.name = "memory_pressure",
                                        .sources = kMemoryPressureSources,
                                        .metrics = kMemoryPressureMetrics,
                                        .write_at_once = true};

void MemoryPressure::write(SampleWriter& out, WriteContext& context) {
  const auto level =
      pressure_level(context.readings.get<Pressure>(), context.readings.get<Zoneinfo>());
  if (level) {
    out.put(kMemoryPressureMetrics[0], *level);
  } else {
    context.absent.add("inputs_unknown");
  }
}

}  // namespace jetmem
