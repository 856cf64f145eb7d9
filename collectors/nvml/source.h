#pragma once

#include "collectors/source.h"

namespace jetmem {

struct Nvml {
  // A process with memory on a GPU. On Thor it is the machine's own memory, on a PC the card's.
  struct Process {
    std::uint32_t gpu = 0;
    std::uint32_t pid = 0;
    std::uint64_t bytes = 0;
  };
  // Whether the GPU shares the machine's memory; absent when NVML does not tell.
  std::optional<bool> integrated;
  std::vector<Process> processes;
};

class NvmlSource final : public SourceOf<Nvml> {
 public:
  static const SourceInfo kInfo;
  const SourceInfo& info() const override { return kInfo; }
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
