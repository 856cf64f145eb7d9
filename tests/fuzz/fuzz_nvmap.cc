// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include "collectors/jetson/nvmap/source.h"
#include "tests/fuzz/snapshot_input.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 10> kPaths{
    "/sys/kernel/debug/nvmap/*/clients",
    "jetmem:end of /sys/kernel/debug/nvmap/*/clients",
    "/sys/kernel/debug/nvmap/*/orphan_handles",
    "jetmem:end of /sys/kernel/debug/nvmap/*/orphan_handles",
    "/sys/kernel/debug/nvmap/*/size",
    "/sys/kernel/debug/nvmap/*/free_size",
    "/sys/kernel/debug/nvmap/pagepool/page_pool_available_pages",
    "/sys/kernel/debug/nvmap/pagepool/page_pool_pages_to_zero",
    "jetmem:nvmap device",
    "jetmem:nvmap folders omitted",
};

void check_files(const Snapshot& snapshot) {
  const auto [ok, fresh, reused] = parsed_twice(parse_nvmap, snapshot);
  if (!ok) return;
  if (fresh.heaps != reused.heaps || fresh.heaps.size() > 16) __builtin_trap();
  if (fresh.clients != reused.clients || fresh.client_pids != reused.client_pids ||
      fresh.clients.size() > 16 * 512)
    __builtin_trap();
  if (fresh.processes != reused.processes) __builtin_trap();
  if (fresh.total_bytes != reused.total_bytes || fresh.pool_pages != reused.pool_pages ||
      fresh.allocatable_bytes != reused.allocatable_bytes) {
    __builtin_trap();
  }
  // No two series of one name, and nothing lost or doubled in the sums.
  std::set<std::pair<std::string, std::string>> names;
  std::uint64_t reported = 0;
  for (const Nvmap::Process& process : fresh.processes) {
    const std::string name = process.is_rest ? "other" : process.name;
    if (!names.insert({process.heap, name}).second) __builtin_trap();
    reported += process.bytes;
  }
  std::uint64_t charged = 0;
  bool all = true;
  for (const Nvmap::Client& client : fresh.clients) charged += client.bytes;
  for (const Nvmap::Heap& heap : fresh.heaps) all &= !heap.is_partial;
  if (all && reported != charged) __builtin_trap();
}

}  // namespace
}  // namespace jetmem

FUZZ(input) {
  check_files(snapshot_of(input, kPaths));
  // The same bytes as one table: what the fixtures' files are.
  Snapshot tables;
  tables.add("/sys/kernel/debug/nvmap/iovmm/clients", input, 0);
  tables.add("/sys/kernel/debug/nvmap/iovmm/orphan_handles", input, 0);
  check_files(tables);
}
