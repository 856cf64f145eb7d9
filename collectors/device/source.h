#pragma once

#include "collectors/source.h"

namespace jetmem {

struct Device {};

class DeviceSource final : public SourceOf<Device> {
 public:
  static const SourceInfo kInfo;
  const SourceInfo& info() const override { return kInfo; }
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
