// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/memory_map.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  using device::MapState;
  using device::MemoryMap;
  static MemoryMap reused;
  for (auto* parse : {device::parse_iomem, device::parse_memblock}) {
    MemoryMap fresh;
    const MapState state = parse(text, fresh);
    check(parse(text, reused) == state);
    if (state != MapState::kKnown) continue;
    check(fresh == reused && !fresh.memory.empty());
    std::uint64_t before = 0;
    for (const device::Range& range : fresh.memory) {
      check(!range.empty() && (before == 0 || range.begin > before));
      before = range.end;
    }
  }
  device::ZonePages pages;
  check(device::parse_zone_pages(text, pages) != MapState::kKnown || pages.present != 0);
}
