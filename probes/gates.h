// SPDX-License-Identifier: Apache-2.0
// Whether the machine can bear a probe now. Pure: from what the sources last read.
//
// What cannot be known on this kernel or board (no PSI before 4.20, nothing that throttles) does
// not close a gate; what should be known and is not (its source failed, is old, was switched off)
// does: a probe never guesses that there is room.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "collectors/sampler/sampler.h"
#include "collectors/source.h"

namespace jetmem {

// Kinds that are probed together, in one process.
enum class ProbeGroup : std::uint8_t {
  kMemory,  // host, dmabuf: cheap
  kCuda,    // the others
};
inline constexpr std::array kProbeGroupList{ProbeGroup::kMemory, ProbeGroup::kCuda};
inline constexpr std::size_t kProbeGroups = kProbeGroupList.size();
std::string_view probe_group_name(ProbeGroup group);  // "memory", "cuda"
// Of jetmem-probe's kinds; nothing for a name that is none.
std::optional<ProbeGroup> probe_group_of(std::string_view kind);
std::vector<std::string_view> probe_kinds(ProbeGroup group);

struct GateInputs {
  // MemAvailable and MemFree, less free CMA pages: those are in both, and what a probe takes cannot
  // move, so it cannot have them.
  std::optional<std::uint64_t> available_bytes;
  std::optional<std::uint64_t> free_bytes;
  // MemAvailable as it is: for what comes out of CMA.
  std::optional<std::uint64_t> available_with_cma_bytes;
  std::optional<bool> throttling;  // absent: nothing here reports it, or:
  std::optional<SourceState> throttling_unknown;
  std::optional<double> memory_stall;  // PSI some avg10, 0..1; absent: no PSI here, or:
  // There is or may be such a figure, and it is not known now: why. kOk: the last one is too old.
  std::optional<SourceState> stall_unknown;
  Nanoseconds uptime{0};
  // Largest free run of each CMA area of which it is known, in bytes; not more than is free of all.
  std::vector<std::pair<std::string, std::uint64_t>> largest_runs;
};
// The state of a source by its name. Only one that is absent needs no reading; where there is no
// function none is known to be.
using SourceStates = std::function<SourceState(std::string_view source)>;
// As long as the sampler lives.
SourceStates source_states(const Sampler& sampler);
// `boot_now` is the boot clock's.
GateInputs gate_inputs(const Readings& readings, const SourceStates& states,
                       std::uint64_t page_size, Nanoseconds boot_now);

struct GateLimits {
  // Of whatever group: four of these are to be available, and never less than 64 MiB.
  std::uint64_t frame_bytes = 12U << 20;
  // With CUDA also:
  std::uint64_t min_available_bytes = 512U << 20;
  std::uint64_t min_free_bytes = 256U << 20;
};

// Why not now. A closed set: it is a label.
enum class GateReason : std::uint8_t {
  kMemoryUnknown,  // MemAvailable or MemFree could not be read
  kLowAvailable,
  kLowFree,
  kThrottling,
  kPressure,    // processes wait for memory more than a tenth of the time
  kJustBooted,  // less than five minutes ago
  kThrottlingUnknown,
  kPressureUnknown,
};
inline constexpr std::size_t kGateReasons = 8;
std::string_view gate_reason_name(GateReason reason);

struct GateRefusal {
  GateReason reason;
  std::string words;  // "MemAvailable minus free CMA is 301 MiB; 512 MiB is needed"
};
// Nothing when the way is free.
std::optional<GateRefusal> gate_refusal(ProbeGroup group, const GateInputs& inputs,
                                        const GateLimits& limits);

}  // namespace jetmem
