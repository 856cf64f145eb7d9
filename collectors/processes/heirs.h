// SPDX-License-Identifier: Apache-2.0
// nvmap charges memory to the process that opened /dev/nvmap, also when that has ended and a child
// that inherited the descriptor goes on. Who that may be: what has the device open, is no client
// itself, and did not inherit it from a living client.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"

namespace jetmem {

// Calls `take` with each, once for each open file; with none where not all clients or descriptors
// are known. `ended`: the clients whose process has ended, in order. True where they are heirs of
// an ended client for certain: each living client was seen with its own open file, and none of
// these is one of those.
template <class Take>
bool each_heir(const Nvmap& nvmap, const Dmabuf& dmabuf, std::span<const std::uint32_t> ended,
               Take take) {
  if (!nvmap.clients_whole || !dmabuf.holders_whole) return false;
  const auto& openers = dmabuf.held.nvmap_openers;
  const auto is_living_client = [&](std::uint32_t pid) {
    const auto& clients = nvmap.client_pids;
    return std::binary_search(clients.begin(), clients.end(), pid) &&
           !std::binary_search(ended.begin(), ended.end(), pid);
  };
  const auto is_of_living = [&](const NvmapOpener& opener) {
    return std::any_of(openers.begin(), openers.end(), [&](const NvmapOpener& one) {
      return one.file != 0 && one.file == opener.file && is_living_client(one.pid);
    });
  };
  bool is_certain = true;
  for (const NvmapOpener& opener : openers) {
    is_certain &= opener.file != 0;
    if (!is_living_client(opener.pid) && !is_of_living(opener)) take(opener);
  }
  for (const std::uint32_t pid : nvmap.client_pids) {
    const bool is_seen = std::any_of(openers.begin(), openers.end(),
                                     [&](const NvmapOpener& one) { return one.pid == pid; });
    // Pid 0: a driver's own client.
    if (pid != 0 && is_living_client(pid)) is_certain &= is_seen;
  }
  return is_certain;
}

}  // namespace jetmem
