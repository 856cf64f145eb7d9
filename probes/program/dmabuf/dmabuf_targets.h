// SPDX-License-Identifier: Apache-2.0
// The DMA heaps and udmabuf, as the targets of a kind of memory.
#pragma once

#include <functional>
#include <string>

#include "probes/program/dmabuf/dmabuf_buffer.h"
#include "probes/program/dmabuf/dmabuf_heaps.h"

namespace jetmem::probe {

inline constexpr const char* kUdmabuf = "udmabuf";

struct DmabufTarget {
  std::string name;
  HeapMemory memory;  // kOrdinary or kContiguous
  int node;
  AllocateDmabuf allocate;
};
using ProbeTarget = std::function<void(const DmabufTarget& target)>;

// Calls `probe` with the heap, or with udmabuf, opened. What cannot or must not be tried becomes a
// result of `kind` with its reason instead.
void probe_heap(Run& run, const char* kind, const Heap& heap, TriedAreas& tried,
                const ProbeTarget& probe);
void probe_udmabuf(Run& run, const char* kind, const ProbeTarget& probe);

}  // namespace jetmem::probe
