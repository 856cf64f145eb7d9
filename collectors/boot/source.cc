#include "collectors/boot/source.h"

namespace jetmem {

const SourceInfo BootSource::kInfo{
    .name = "boot",
    .what = "why the machine restarted last, and what has changed since",
    .access = Access::kReader,
    .interval = std::chrono::minutes(5),
    .shortest_interval = std::chrono::seconds(10),
};

Result<void> BootSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void BootSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
