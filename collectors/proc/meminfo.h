// SPDX-License-Identifier: Apache-2.0
// /proc/meminfo: how much memory there is and who has it. World readable, about 1.5 us.
//
// Format (fs/proc/meminfo.c): one "Name:  number[ kB]" a line. Sizes carry "kB" and mean KiB;
// HugePages_* carry nothing and are counts of huge pages. Fields come and go with kernel versions
// and vendors (L4T adds NvMapMemFree and NvMapMemUsed), so every field is kept under the name
// that the kernel prints, and a field that is not printed is absent. An odd line costs that line:
// empty ones (3.10, 5.4), the header and the rows of old kernels, "MemAvailable: -1 kB", a SwapFree
// of lxcfs that wrapped below 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Meminfo : Reading {
  struct Field {
    std::string name;                    // as printed: "Active(anon)"
    std::optional<std::uint64_t> value;  // bytes where `is_bytes`, else a count
    bool is_bytes = false;
    const Descriptor* descriptor = nullptr;
    std::optional<std::size_t> whole;  // the field that it is a part of
  };
  std::vector<Field> fields;

  // By the whole name: "MemFree" is not found in "NvMapMemFree".
  std::optional<std::uint64_t> find(std::string_view name) const;
};

// Odd lines cost their field (collectors/fields.h): "impossible" is also a part that exceeds its
// whole, "beyond_bound" what follows 256 fields. `out` is reused: its storage, not its content.
Result<void> parse_meminfo(std::string_view text, Meminfo& out);

class MeminfoSource final : public ParsedSource<MeminfoSource, Meminfo, parse_meminfo> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
