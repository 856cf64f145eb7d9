#include "collectors/device/source.h"

namespace jetmem {

const SourceInfo DeviceSource::kInfo{
    .name = "device",
    .what = "which device this is, and where its memory went before Linux",
    .access = Access::kReader,
    .interval = std::chrono::minutes(10),
    .shortest_interval = std::chrono::seconds(10),
};

Result<void> DeviceSource::parse(const Snapshot&, Nanoseconds) {
  return fail(Errc::kAbsent, "not yet");
}

void DeviceSource::write(SampleWriter&, WriteContext&) const {}

}  // namespace jetmem
