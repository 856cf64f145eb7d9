// SPDX-License-Identifier: Apache-2.0
// Which DMA heaps there are, and whether one of them may be tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/program/options.h"

namespace jetmem::probe {

struct Heap {
  std::string name;  // one printable word
  std::string path;
};

struct HeapList {
  static constexpr std::size_t kMaxHeaps = 16;

  int error = 0;            // of looking into the folder
  std::vector<Heap> heaps;  // sorted by name
  std::string untried;      // what else is there, and why it is not tried; for people
};
// Every character device in the folder. A link to another of its entries is that one's second
// name, and not mentioned. Nothing is opened.
HeapList list_heaps(const std::string& directory);

enum class HeapMemory {
  kOrdinary,    // pages from anywhere: as harmless as malloc()
  kContiguous,  // of a CMA area or carve-out, which cameras and displays need too
  kProtected,   // not for the CPU. Never taken, whatever the options: a heap for protected video
                // may freeze every process while it grows
};
// By its name: nothing else says.
HeapMemory memory_of_heap(const std::string& name);

// Which of the areas whose largest free run is known is behind a contiguous heap: the one of the
// same name (of which debugfs keeps 11 characters before 6.1); only default_cma_region, the heap of
// Linux 6.17 and later, is called otherwise: then the only one with a name that the default area
// usually has, or the only one at all. No other heap is guessed at: it may be a carve-out.
std::optional<std::string> area_of_heap(const std::string& heap,
                                        const std::map<std::string, std::uint64_t>& largest_runs);

// Why a contiguous heap is not to be tried; empty: it may be.
std::string heap_skip_reason(const std::string& heap, const Options& options);

// Of each area, the heap by which it was tried.
using TriedAreas = std::map<std::string, std::string>;
// As above, or because the heap is of an area that was tried already. An empty answer means that it
// will be tried, and is noted in `tried`.
std::string heap_skip_reason(const std::string& heap, const Options& options, TriedAreas& tried);

}  // namespace jetmem::probe
