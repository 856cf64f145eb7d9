// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/memory_map.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using jetmem::device::MapState;
  using jetmem::device::MemoryMap;
  static MemoryMap reused;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (auto* parse : {jetmem::device::parse_iomem, jetmem::device::parse_memblock}) {
    MemoryMap fresh;
    const MapState state = parse(text, fresh);
    if (parse(text, reused) != state) __builtin_trap();
    if (state != MapState::kKnown) continue;
    if (!(fresh == reused) || fresh.memory.empty()) __builtin_trap();
    std::uint64_t before = 0;
    for (const jetmem::device::Range& range : fresh.memory) {
      if (range.empty() || (before != 0 && range.begin <= before)) __builtin_trap();
      before = range.end;
    }
  }
  jetmem::device::ZonePages fresh;
  jetmem::device::ZonePages pages;
  const MapState state = jetmem::device::parse_zone_pages(text, fresh);
  if (jetmem::device::parse_zone_pages(text, pages) != state) __builtin_trap();
  if (state == MapState::kKnown && (!(fresh == pages) || fresh.present == 0)) __builtin_trap();
  return 0;
}
