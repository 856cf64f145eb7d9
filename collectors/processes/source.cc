#include "collectors/processes/source.h"

namespace jetmem {

const SourceInfo ProcessesSource::kInfo{
    .name = "processes",
    .what = "who uses the memory: the largest groups of processes",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(10),
};

Result<void> ProcessesSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void ProcessesSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
