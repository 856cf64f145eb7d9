// SPDX-License-Identifier: Apache-2.0
// /proc/vmstat: what the kernel has done about memory since boot. World readable, about 8 us.
//
// Format (mm/vmstat.c): one "name number" a line, no units. The nr_ names are levels in pages; all
// that is exported here counts events and only grows. Names come and go with kernel versions and
// configurations, so every line is kept under the name that the kernel prints, and a name that is
// not printed is absent: oom_kill before 4.13, cma_alloc_* before 5.13, compact_* without
// CONFIG_COMPACTION.
//
// Some events are printed once for each zone, with _dma, _dma32, _normal, _movable, _high or
// _device behind the name: pgscan_* and pgsteal_* up to 4.7, allocstall since 4.8. They are
// exported as their sum, so that a name means the same on every kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Vmstat : Reading {
  struct Field {
    std::string name;  // as printed
    std::optional<std::uint64_t> value;
  };
  std::vector<Field> fields;

  // What an exported counter is made of: one field, or one for each zone. Sorted by counter.
  struct Part {
    std::uint16_t counter = 0;  // index into VmstatSource::kInfo.metrics
    std::uint16_t field = 0;    // index into fields
  };
  std::vector<Part> parts;

  // By the whole name as printed; pgscan_direct is not found in pgscan_direct_throttle.
  std::optional<std::uint64_t> find(std::string_view name) const;
};

// Odd lines cost their name, and the sum that it is a part of (collectors/fields.h). `out` is
// reused: its storage, not its content.
Result<void> parse_vmstat(std::string_view text, Vmstat& out);

class VmstatSource final : public ParsedSource<VmstatSource, Vmstat, parse_vmstat> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
