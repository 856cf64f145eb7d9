// SPDX-License-Identifier: Apache-2.0
// One level of memory pressure, from the stalls of programs (PSI) and from the zones' watermarks.
//
//   0 none     memory is available at once
//   1 reclaim  kswapd reclaims; normal for a moment on a machine full of caches
//   2 stalls   programs stall on memory
//   3 severe   almost everything stalls most of the time
//
// From PSI, memory, the average over 10 s: the limits below. They are our own: 1 % in some is
// noise; 5 % in full is half a second of ten lost by every task; from 40 % in full on little useful
// work is done.
//
// From the zones, as the kernel's allocator goes through them for a driver's request: it uses the
// first that stays above its watermark without the free CMA pages, and without what is reserved
// from requests that may use higher zones (protection). So one zone below low means nothing, nor do
// the 15 MiB of a PC's DMA zone: only when no zone is above low kswapd is woken, and when none is
// above min programs stall. With a populated zone Movable, whose reserves are known for movable
// requests only, the level is that of movable requests: CMA counts then.
//
// The higher of the two counts. Zones alone give at most 2, since they do not show what stalls
// cost; PSI alone misses a driver's short wait. Neither: absent (inputs_unknown).
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/proc/pressure.h"
#include "collectors/proc/zoneinfo.h"
#include "collectors/source.h"

namespace jetmem {

enum class PressureLevel : std::uint8_t { kNone, kReclaim, kStalls, kSevere };

// Shares of the last 10 s.
inline constexpr double kReclaimSome = 0.01;
inline constexpr double kStallsSome = 0.10;
inline constexpr double kStallsFull = 0.05;
inline constexpr double kSevereFull = 0.40;

// Absent without figures of memory.
std::optional<PressureLevel> pressure_level(const Pressure& pressure);
// Absent without a populated zone, or when one does not say what it keeps back.
std::optional<PressureLevel> pressure_level(const Zoneinfo& zones);
// Either may be null.
std::optional<PressureLevel> pressure_level(const Pressure* pressure, const Zoneinfo* zones);

class MemoryPressure final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
