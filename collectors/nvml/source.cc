#include "collectors/nvml/source.h"

namespace jetmem {

const SourceInfo NvmlSource::kInfo{
    .name = "nvml",
    .what = "GPU memory by process where the GPU's driver is nvidia.ko (Thor, PCs)",
    .access = Access::kProgram,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(10),
};

Result<void> NvmlSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void NvmlSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
