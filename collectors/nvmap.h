#pragma once

#include "collectors/source.h"

namespace jetmem {

struct Nvmap {
  // A process with memory in a heap; several may bear one name, one may have several heaps.
  struct Client {
    std::string heap;  // "iovmm", "generic-0", ...
    std::string name;  // the process's comm
    std::uint32_t pid = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Client> clients;
};

class NvmapSource final : public SourceOf<Nvmap> {
 public:
  static const SourceInfo kInfo;
  const SourceInfo& info() const override { return kInfo; }
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
