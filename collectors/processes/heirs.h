// SPDX-License-Identifier: Apache-2.0
// nvmap charges memory to the process that opened /dev/nvmap, also when that has ended and a child
// that inherited the descriptor goes on. Who that may be: what has the device open and is no client
// itself.
#pragma once

#include <algorithm>

#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/processes/group/groups.h"

namespace jetmem {

// Whether no process has this pid. False where not all processes are known.
inline bool has_ended(const Processes& processes, std::uint32_t pid) {
  const auto& all = processes.processes;
  const auto at = std::lower_bound(
      all.begin(), all.end(), pid,
      [](const Processes::Process& process, std::uint32_t value) { return process.pid < value; });
  return processes.whole() && (at == all.end() || at->pid != pid);
}

// Calls `take` with each; with none where not all clients or descriptors are known.
template <class Take>
void each_heir(const Nvmap& nvmap, const Dmabuf& dmabuf, Take take) {
  if (!nvmap.clients_whole || !dmabuf.holders_whole) return;
  for (const NvmapOpener& opener : dmabuf.held.nvmap_openers) {
    const auto& clients = nvmap.client_pids;
    if (!std::binary_search(clients.begin(), clients.end(), opener.pid)) take(opener);
  }
}

}  // namespace jetmem
