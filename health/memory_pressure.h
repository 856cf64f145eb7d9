// One figure for how hard it is to get memory now, from what programs lost by waiting (PSI) and
// from how the zones stand to the kernel's watermarks.
//
//   0 none     memory is had at once
//   1 reclaim  kswapd works to get some back; normal for a moment on a machine whose caches fill it
//   2 stalls   programs wait for it
//   3 severe   nearly everything waits most of the time
//
// From PSI, memory, the average over 10 s: the limits below. They are ours, with no standard behind
// them: 1 % in some is noise; 5 % in full is half a second of ten lost by everybody; from 40 % in
// full on little useful gets done.
//
// From the zones, as the kernel's allocator goes through them for a driver's request: it takes the
// first that stays above its watermark without the free CMA pages, and without what it keeps from
// requests that may use higher zones (protection). So one zone below low means nothing, nor do the
// 15 MiB of a PC's DMA that nobody else may have: only when no zone is left above low kswapd is
// woken, and when none is above min programs wait. With a populated zone Movable, whose reserves
// are told for its kind of request only, the level is that of movable requests: CMA counts then.
//
// The higher of the two. With one of them only that one decides: zones alone give at most 2, since
// what waiting costs is not in them; PSI alone does not see a driver's short wait. Neither: absent,
// and counted as inputs_unknown.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/pressure.h"
#include "collectors/source.h"
#include "collectors/zoneinfo.h"

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

class MemoryPressure final : public Derivation {
 public:
  std::string_view name() const override { return "memory_pressure"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
