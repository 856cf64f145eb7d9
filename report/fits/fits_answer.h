// SPDX-License-Identifier: Apache-2.0
// Whether memory of one kind can be had now: what `jetmem fits` answers, and what jetmemd predicts
// before each of its probes.
//
// The amounts are what the kernel would grant: /proc/meminfo, buddyinfo and zoneinfo, CMA's debugfs
// or jetmem's map of it, nvmap, NVML. An amount that these do not tell is absent with the reason.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"

namespace jetmem {

enum class MemoryKind : std::uint8_t {
  kDevice,  // of the GPU: the card's own, or the machine's, of which CUDA reports what is unused
  kPinned,  // pages that cannot move, each by itself: cudaHostAlloc, drivers
  kDmabuf,  // of the system's DMA heap: such pages too
  kCma,     // one contiguous piece of a CMA area
  kContiguous,  // one contiguous block from the buddy allocator, for a driver
};
inline constexpr std::array<std::string_view, 5> kMemoryKinds{"device", "pinned", "dmabuf", "cma",
                                                              "contiguous"};

enum class Fit : std::uint8_t { kNow, kAfterMakingRoom, kNo, kUnknown };
// "now", "after_making_room", "no", "unknown"
std::string_view fit_name(Fit fit);

struct FitsAnswer {
  static constexpr std::string_view kSchema = "jetmem-fits/1";

  AnswerFrom from;
  MemoryKind kind = MemoryKind::kDevice;
  double bytes = 0;  // that were asked for
  Fit fit = Fit::kUnknown;
  std::optional<double> now_bytes;   // the largest request that can be met now
  std::optional<double> room_bytes;  // the same after `jetmem make-room`
  std::string where;                 // the GPU, area or zone with the most; may be empty
  bool is_guess = false;             // `fit` is what usually happens, not what the figures say
  std::string why;                   // one sentence, for people
  std::vector<std::string> notes;
  // Until it no longer fits, if memory continues to shrink as in the last two hours.
  std::optional<double> shrinks_away_seconds;
  Absences absent;
};

FitsAnswer fits_answer(const DeviceNow& now, MemoryKind kind, double bytes);
std::string fits_json(const FitsAnswer& answer);

}  // namespace jetmem
