// SPDX-License-Identifier: Apache-2.0
// Swap areas, and the compressed ones in memory among them (zram). World readable, a few
// microseconds a device; but a zram's files wait while it is reset, which frees all that it holds,
// and its devices must be looked up: jetmem-reader is asked, not the daemon's loop.
//
// /proc/swaps (mm/swapfile.c), a header and a line for each area:
//   Filename                  Type         Size      Used    Priority
//   /dev/zram0                partition    650224    145408  5
//   Sizes in KiB, priority signed. Blanks, tabs, line breaks and backslashes in a name are written
//   as \040 and the like; behind a name that was removed stands "\040(deleted)".
// /sys/block/zram<N>/ (drivers/block/zram/zram_drv.c), since Linux 3.14 or as said:
//   disksize          bytes; 0 until it is set up
//   initstate         0 or 1
//   comp_algorithm    the names, the chosen one in brackets: "lzo [lzo-rle] lz4 "
//   mm_stat           4.1: orig_data_size compr_data_size mem_used_total mem_limit mem_used_max, in
//                     bytes, then in pages same_pages pages_compacted, then huge_pages (4.18) and
//                     later huge_pages_since. mem_limit 0: none.
//   io_stat           4.1: failed_reads failed_writes invalid_io notify_free
// JetPack sets up one zram for each CPU, all of them together half as large as memory.
//
// What zram uses is taken out of the same memory that it is to relieve: a page that cannot be
// compressed ("huge") is only moved.
//
// Omitted and counted: malformed, impossible, unreadable, denied, beyond_bound (32 devices, 64
// areas).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Zram : Reading {
  static constexpr std::size_t kMaxDevices = 32;
  static constexpr std::size_t kMaxAreas = 64;

  // Absent: this kernel does not print it, or it could not be understood.
  struct Device {
    std::string name;  // "zram0"
    std::optional<std::uint64_t> disksize;
    std::optional<bool> initialized;
    std::string algorithm;  // empty: not known
    std::optional<std::uint64_t> original_bytes;
    std::optional<std::uint64_t> compressed_bytes;
    std::optional<std::uint64_t> used_bytes;
    std::optional<std::uint64_t> limit_bytes;
    std::optional<std::uint64_t> max_used_bytes;
    std::optional<std::uint64_t> same_pages;
    std::optional<std::uint64_t> huge_pages;
    std::optional<std::uint64_t> failed_reads;
    std::optional<std::uint64_t> failed_writes;

    bool operator==(const Device&) const = default;
  };
  std::vector<Device> devices;  // by number

  struct Area {
    std::string device;  // its escapes undone
    std::string type;    // "partition" or "file"
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint64_t> used_bytes;
    std::optional<std::int64_t> priority;

    bool operator==(const Area&) const = default;
  };
  std::vector<Area> areas;   // in the kernel's order
  bool areas_known = false;  // whether `areas` is what the machine has
};

// Errors: kAbsent when there is neither /proc/swaps nor a zram device; when nothing of what there
// is could be read or understood, why.
Result<void> parse_zram(const Snapshot& snapshot, Zram& out);

class ZramSource final : public ParsedSource<ZramSource, Zram, parse_zram> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
