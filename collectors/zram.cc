#include "collectors/zram.h"

namespace jetmem {

const SourceInfo ZramSource::kInfo{
    .name = "zram",
    .what = "swap, and what compressed swap in memory (zram) costs and saves",
    .access = Access::kDirect,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
};

Result<void> ZramSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void ZramSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
