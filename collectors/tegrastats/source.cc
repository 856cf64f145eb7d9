#include "collectors/tegrastats/source.h"

namespace jetmem {

const SourceInfo TegrastatsSource::kInfo{
    .name = "tegrastats",
    .what = "what NVIDIA's tegrastats prints: largest free blocks, GPU and EMC load, engines, rails",
    .access = Access::kProgram,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
};

Result<void> TegrastatsSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void TegrastatsSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
