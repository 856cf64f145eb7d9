#include "collectors/power.h"

namespace jetmem {

const SourceInfo PowerSource::kInfo{
    .name = "power",
    .what = "power of each rail (INA3221)",
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
};

Result<void> PowerSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void PowerSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
