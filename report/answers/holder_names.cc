// SPDX-License-Identifier: Apache-2.0
#include "report/answers/holder_names.h"

#include <array>

#include "base/text/text.h"

namespace jetmem {

std::string holder_name(std::string_view command, std::string_view unit,
                        std::string_view container) {
  std::string out = printable(command, 64);
  if (!container.empty()) {
    out += " (container " + printable(container, 40) + ")";
  } else if (!unit.empty()) {
    out += " (" + printable(unit, 60) + ")";
  }
  return out;
}

bool is_rest(std::string_view command, std::string_view unit, std::string_view container) {
  return command == "other" && unit.empty() && container.empty();
}

std::span<const OtherHolder> other_holders() {
  static constexpr std::array<OtherHolder, 4> kOthers{{
      {"jetmem_nvmap_orphan_bytes", "GPU and camera buffers without an nvmap client (orphans)",
       "nvmap_orphans"},
      {"jetmem_meminfo_SUnreclaim_bytes", "kernel slab (SUnreclaim)", {}},
      {"jetmem_meminfo_PageTables_bytes", "page tables", {}},
      {"jetmem_meminfo_VmallocUsed_bytes", "kernel vmalloc (VmallocUsed)", {}},
  }};
  return kOthers;
}

}  // namespace jetmem
