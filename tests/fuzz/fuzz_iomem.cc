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
    if (parse(text, reused) != state) __builtin_trap();
    if (state != MapState::kKnown) continue;
    if (!(fresh == reused) || fresh.memory.empty()) __builtin_trap();
    std::uint64_t before = 0;
    for (const device::Range& range : fresh.memory) {
      if (range.empty() || (before != 0 && range.begin <= before)) __builtin_trap();
      before = range.end;
    }
  }
  device::ZonePages pages;
  const MapState state = device::parse_zone_pages(text, pages);
  if (state == MapState::kKnown && pages.present == 0) __builtin_trap();
}
