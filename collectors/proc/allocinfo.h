// SPDX-License-Identifier: Apache-2.0
// /proc/allocinfo: what the kernel's own code has allocated, by the line that did (memory
// allocation profiling, 6.10 with CONFIG_MEM_ALLOC_PROFILING). Root's. The kernel adds up a counter
// of each CPU for some 5000 lines: about 10 ms, so it is read rarely.
//
// Format (lib/alloc_tag.c):
//
//   allocinfo - version: 1.0
//   #     <size>  <calls> <tag info>
//          12288        3 kernel/bpf/core.c:1168 func:bpf_jit_blind_constants
//         262144       64 drivers/gpu/drm/panfrost/panfrost_gem.c:99 [panfrost]
//         func:panfrost_gem_create
//
// Sizes are bytes. Later versions may have more behind them ("accurate:no"). Where profiling is off
// (sysctl vm.mem_profiling 0) every size is 0, or the file is missing.
//
// Lines are added up by module, and of what is built in by the first two folders of the file:
// "drivers/net", "mm/slub.c". Programs' pages and page cache are among them (mm/memory.c,
// mm/filemap.c): all that was allocated since profiling began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Allocinfo : Reading {
  static constexpr std::size_t kMaxShown = 20;
  static constexpr std::size_t kMaxParts = 1024;

  struct Part {
    std::string name;  // "panfrost", "drivers/net"
    bool is_module = false;
    std::uint64_t bytes = 0;
  };
  std::vector<Part> largest;  // at most kMaxShown, by name
  std::uint64_t bytes = 0;    // of all
  bool is_whole = true;       // no size was odd
};

// Errors: no allocinfo, cut, or another version; kAbsent where profiling is off.
Result<void> parse_allocinfo(std::string_view text, Allocinfo& out);

class AllocinfoSource final : public ParsedSource<AllocinfoSource, Allocinfo, parse_allocinfo> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
