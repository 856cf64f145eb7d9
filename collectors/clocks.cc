#include "collectors/clocks.h"

namespace jetmem {

const SourceInfo ClocksSource::kInfo{
    .name = "clocks",
    .what = "clocks of CPU, GPU and memory (EMC), and the power mode",
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
};

Result<void> ClocksSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void ClocksSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
