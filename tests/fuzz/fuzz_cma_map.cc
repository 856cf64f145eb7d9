// SPDX-License-Identifier: Apache-2.0
// Whatever a trace says: what is known of an area is in order, within it, and has an owner.
#include "collectors/cma/map.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPaths = expanded(
      {"/sys/kernel/tracing/instances/jetmem/{trace,per_cpu/cpu0/stats,per_cpu/cpu1/stats}",
       "jetmem:after /sys/kernel/tracing/instances/jetmem/per_cpu/cpu0/stats",
       "/sys/kernel/debug/cma/*/{base_pfn,count,order_per_bit,bitmap}",
       "/proc/7/{status,stat,comm of process,cgroup}", kCmaTicks});
  CmaTrace trace;
  CmaMapper mapper;
  CmaMap map;
  // Readings are separated by two NUL bytes.
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = std::min(input.find(std::string_view("\0\0", 2), at), input.size());
    Snapshot snapshot = snapshot_of(input.substr(at, end - at), kPaths);
    at = end + 2;
    snapshot.add("/sys/kernel/tracing/instances/jetmem/options/pause-on-trace", "0\n", 0);
    snapshot.add("/sys/kernel/tracing/instances/jetmem/trace_clock", "[boot]\n", 0);
    if (!parse_cma_trace(snapshot, trace)) continue;
    (void)mapper.take(trace, map);
    for (const CmaMap::Area& area : map.areas) {
      std::uint64_t last = area.base_pfn.value_or(0);
      for (const CmaPiece& piece : area.pieces) {
        check(piece.pfn >= last && piece.pages != 0);
        last = piece.end();
        check(piece.state != CmaPiece::State::kTaken || piece.owner < map.owners.size());
      }
      check(!area.pages || last <= *area.base_pfn + *area.pages);
      check(area.taken_pieces <= CmaMap::kMaxAllocations);
      (void)area.largest_free_run();
    }
  }
}
