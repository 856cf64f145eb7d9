// How much of the machine's memory programs can still have, and what of it CUDA does not show.
//
//   available ratio  MemAvailable / MemTotal: what programs can have without swapping (Linux 3.14)
//   free ratio       MemFree / MemTotal: what nobody uses, not even as a cache
//   hidden ratio     (MemAvailable - MemFree) / MemAvailable, at least 0
//
// The last only where a GPU has its memory from here: its free figure (cudaMemGetInfo) follows
// MemFree, although the rest of MemAvailable is given back when somebody asks for it. That a GPU
// does is told by nvmap (its reading, or NvMapMemUsed in meminfo, which needs no privilege) or by
// NVML, which knows a GPU without memory of its own.
//
// Left out and counted, by reason: meminfo_unknown, not_printed (a line of meminfo), no_shared_gpu
// (no GPU is known to have its memory from here), nothing_available, inconsistent.
#pragma once

#include <optional>

#include "collectors/meminfo.h"
#include "collectors/nvml/source.h"
#include "collectors/source.h"

namespace jetmem {

// Absent for 0 of 0. More than `total` is no share of it: absent too.
std::optional<double> share_of_memory(std::uint64_t part, std::uint64_t total);
std::optional<double> hidden_share(std::uint64_t available, std::uint64_t free);

class MemoryHealth final : public Derivation {
 public:
  std::string_view name() const override { return "memory_health"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
