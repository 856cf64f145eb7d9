// SPDX-License-Identifier: Apache-2.0
// Where the kernel says that there is memory, three ways; each has what another hides.
//
//   /proc/iomem        kernel/resource.c: two blanks a level, "begin-end : name", hexadecimal, both
//                      ends belonging to it:
//                        80000000-bdffffff : System RAM
//                          9b290000-9cdfffff : Kernel code
//                        fffe0000-ffffffff : reserved
//                      World readable, but without CAP_SYS_ADMIN every address is 0; then
//                      what jetmem-iomem.service kept at boot is taken. On arm64 an
//                      outermost "reserved" is memory that firmware reported to Linux and keeps
//                      (memblock's NOMAP); one below System RAM is the kernel's own. On x86 an
//                      outermost one may be no memory at all.
//   /sys/kernel/debug/memblock/memory   mm/memblock.c; arm64 keeps it, x86 does not. Root's.
//                        "   0: 0x0000000080000000..0x00000000bdffffff", since 6.4 with the node
//                        and
//                      the flags behind it: "    0 NONE", "    0 NOMAP".
//   /proc/zoneinfo     present pages of all zones: the same sum, readable for all, but no
//   addresses.
//                      spanned, present and start_pfn of each zone (see
//                      collectors/proc/zoneinfo.h).
//
// Memory that firmware did not report to Linux is in none of them. Up to 5.10 carve-outs that are
// no-map are not either.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "collectors/device/ranges.h"

namespace jetmem::device {

struct MemoryMap {
  RangeSet memory;              // what Linux uses
  RangeSet firmware;            // what firmware keeps of what it reported; may be no memory on x86
  bool knows_firmware = false;  // otherwise that is within `memory`, or nowhere
  std::uint64_t malformed = 0;  // lines

  bool operator==(const MemoryMap&) const = default;
};

enum class MapState : std::uint8_t {
  kAbsent,  // no such file; not what parsing gives
  kKnown,
  kHidden,     // may not be read, or all addresses are 0
  kMalformed,  // no newline at the end, or no memory in any line that is understood
  kTooMany,    // more ranges than the bound
};
// What is not kKnown leaves `out` unspecified. No message: an unavailable map is a reason,
// not an error of the source, and most machines hide it each time.
MapState parse_iomem(std::string_view text, MemoryMap& out);
MapState parse_memblock(std::string_view text, MemoryMap& out);

// All numbers are pages.
struct ZonePages {
  std::uint64_t present = 0;
  std::uint64_t lowest = 0;                // the first page that is there
  std::uint64_t end = 0;                   // behind the last
  std::optional<std::uint64_t> managed{};  // unless a zone with pages does not say
};

// kMalformed: no newline at the end; no zone with pages; one in part or without its three fields;
// a sum beyond 2^52 pages.
MapState parse_zone_pages(std::string_view text, ZonePages& out);

}  // namespace jetmem::device
