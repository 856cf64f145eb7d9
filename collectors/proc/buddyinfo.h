// SPDX-License-Identifier: Apache-2.0
// /proc/buddyinfo: how many free blocks of each size every zone has. World readable, about 1.5 us.
//
// Format (mm/vmstat.c, frag_show_print; unchanged since 2.6), one line a populated zone:
//   Node 0, zone   Normal    335     58    237    728    528    354    221    135     75 ...
// Column k counts the free blocks of 2^k pages, from order 0 on. The number of columns is a matter
// of the kernel's configuration (11 with 4 KiB pages, 14 with 64 KiB) and taken from the text.
//
// Trap: free pages in contiguous memory areas (CMA) and in the highatomic reserve are inside these
// counts, although a driver's unmovable request cannot have them. health/memory/fragmentation.h
// takes the CMA pages out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectors/fields.h"
#include "collectors/proc/zone.h"
#include "collectors/source.h"

namespace jetmem {

struct Buddyinfo : Reading {
  struct Zone {
    ZoneId id;
    // Free blocks by order; the first `orders` are meant.
    std::array<std::uint64_t, kMaxOrders> blocks{};
    std::size_t orders = 0;

    std::span<const std::uint64_t> counts() const { return {blocks.data(), orders}; }
    // Absent when the zone has no free block.
    std::optional<unsigned> largest_free_order() const;
    void clear() { *this = {}; }
  };
  std::vector<Zone> zones;
  bool whole = true;  // whether these are all that the text has

  // Free blocks of all zones and orders.
  std::uint64_t total_blocks() const;
};

// The counts of one line. False where one is lost: then all are, as each derived figure takes all.
// With `capped`, ">100000" sets the bit of its order there.
bool take_counts(std::string_view rest, Fields& fields,
                 std::array<std::uint64_t, kMaxOrders>& blocks, std::size_t& orders,
                 std::uint32_t* capped = nullptr);

// An odd count costs its zone (collectors/fields.h), as does another number of columns than most
// lines have. `out` is reused: its storage, not its content.
Result<void> parse_buddyinfo(std::string_view text, Buddyinfo& out);

class BuddyinfoSource final : public ParsedSource<BuddyinfoSource, Buddyinfo, parse_buddyinfo> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
