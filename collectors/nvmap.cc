#include "collectors/nvmap.h"

namespace jetmem {

const SourceInfo NvmapSource::kInfo{
    .name = "nvmap",
    .what = "GPU and camera memory by process and what no process holds any more (nvmap)",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(30),
};

Result<void> NvmapSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void NvmapSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
