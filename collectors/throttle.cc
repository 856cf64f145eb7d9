#include "collectors/throttle.h"

namespace jetmem {

const SourceInfo ThrottleSource::kInfo{
    .name = "throttle",
    .what = "what slows the chip down now: throttle alerts and over-current events",
    .access = Access::kReader,
    .interval = std::chrono::seconds(5),
    .shortest_interval = std::chrono::seconds(1),
};

Result<void> ThrottleSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void ThrottleSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
