#include "collectors/dmabuf/source.h"

namespace jetmem {

const SourceInfo DmabufSource::kInfo{
    .name = "dmabuf",
    .what = "DMA-BUF buffers: how many, whose, and which processes hold them",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(60),
};

Result<void> DmabufSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void DmabufSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
