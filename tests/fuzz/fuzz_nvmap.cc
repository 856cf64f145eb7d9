// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/jetson/nvmap/source.h"
#include "tests/fuzz/snapshot_input.h"

namespace jetmem {
namespace {

void check_files(const Snapshot& snapshot) {
  const auto nvmap = parsed_twice(parse_nvmap, snapshot, &Nvmap::heaps, &Nvmap::clients,
                                  &Nvmap::client_pids, &Nvmap::processes, &Nvmap::total_bytes,
                                  &Nvmap::pool_pages, &Nvmap::allocatable_bytes);
  if (!nvmap) return;
  check(nvmap->heaps.size() <= 16 && nvmap->clients.size() <= 16 * 512);
  // No two series of one name, and nothing lost or doubled in the sums.
  std::set<std::pair<std::string, std::string>> names;
  std::uint64_t reported = 0;
  for (const Nvmap::Process& process : nvmap->processes) {
    check(names.insert({process.heap, process.is_rest ? "other" : process.name}).second);
    reported += process.bytes;
  }
  std::uint64_t charged = 0;
  bool all = true;
  for (const Nvmap::Client& client : nvmap->clients) charged += client.bytes;
  for (const Nvmap::Heap& heap : nvmap->heaps) all &= !heap.is_partial;
  check(!all || reported == charged);
}

}  // namespace
}  // namespace jetmem

FUZZ(input) {
  static const auto kPaths = expanded(
      {"/sys/kernel/debug/nvmap/*/clients", "jetmem:end of /sys/kernel/debug/nvmap/*/clients",
       "/sys/kernel/debug/nvmap/*/orphan_handles",
       "jetmem:end of /sys/kernel/debug/nvmap/*/orphan_handles",
       "/sys/kernel/debug/nvmap/*/{size,free_size}",
       "/sys/kernel/debug/nvmap/pagepool/page_pool_{available_pages,pages_to_zero}",
       "jetmem:nvmap {device,folders omitted}"});
  check_files(snapshot_of(input, kPaths));
  // The same bytes as one table: what the fixtures' files are.
  Snapshot tables;
  tables.add("/sys/kernel/debug/nvmap/iovmm/clients", input, 0);
  tables.add("/sys/kernel/debug/nvmap/iovmm/orphan_handles", input, 0);
  check_files(tables);
}
