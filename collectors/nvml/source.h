#pragma once

#include "collectors/source.h"

namespace jetmem {

struct Nvml {};

class NvmlSource final : public SourceOf<Nvml> {
 public:
  static const SourceInfo kInfo;
  const SourceInfo& info() const override { return kInfo; }
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
