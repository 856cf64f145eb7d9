// SPDX-License-Identifier: Apache-2.0
// Which page of each contiguous memory area (CMA) is taken, by whom and since when, from the events
// that the kernel traces (trace.h).
//
// What is not certain is unknown: nothing is known of a page until an event, or the area's own
// bitmap, says what it is. When events were lost, everything is unknown from there on.
//
// - The kernel clears the bits of a release before it traces it, and the next allocation may be
//   traced first. So an allocation of pages that are taken means that their release is under way:
//   it is awaited, and then changes nothing. Of pages that were unknown a release may be under way:
//   one that follows within a second leaves them unknown. So does one within the first second of a
//   trace, or after a loss.
// - Where debugfs has the area's bitmap, and no event came while it was read, a page of which
// nothing
//   is known is free where its bit is clear, and was taken before jetmem looked where it is set.
//   Until the next such reading a release of it may be under way. A page that is known and whose
//   bit says otherwise, twice with no event in between, is corrected; one that is free though no
//   release was traced is counted. The kernel may set the bits of an allocation long before it
//   traces it, because it moves pages away in between: the event then says whose they are.
// Readings are a second apart at least (CmaMapSource::kInfo).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "collectors/cma/trace.h"

namespace jetmem {

struct CmaPiece {
  enum class State : std::uint8_t {
    kFree,
    kTaken,
    kBefore,  // taken, before jetmem looked
  };

  std::uint64_t pfn = 0;
  std::uint64_t pages = 0;
  State state = State::kFree;
  // Of kTaken: its index in CmaMap::owners. Else 1: seen in a bitmap once, and an allocation or
  // release that is not traced yet may change it.
  std::uint32_t owner = 0;
  std::optional<Nanoseconds> at;  // of kTaken: when it was allocated, boot clock

  std::uint64_t end() const { return pfn + pages; }
  bool operator==(const CmaPiece&) const = default;
};

struct CmaHolder {
  std::uint64_t pid = 0;
  std::string name;

  bool operator==(const CmaHolder&) const = default;
};

// Who allocated. Whoever holds the buffer now may be another: descriptors are passed on.
struct CmaOwner {
  std::uint32_t thread = 0;
  std::string comm;       // of the thread, as the trace has it; may be empty
  std::string name;       // of its process, or `comm` where that was not found
  std::uint32_t pid = 0;  // of the process; 0: not found
  std::string unit;
  std::string container;
  std::string function;  // of the driver, where the kernel traces stacks
  // The process, or, where pid is 0, the thread. False also where that is not known.
  bool has_ended = false;
  // Of one that has ended: who has DMA-BUFs of the sizes that it allocated, the most first. The
  // mapper leaves it empty (report/device/cma_map.h).
  std::vector<CmaHolder> maybe_held_by{};

  bool operator==(const CmaOwner&) const = default;
};

// In pages: the largest request that free pages from `begin` up to `end` meet. Drivers and DMA
// heaps align a request to its size, rounded up to a power of 2, up to CONFIG_CMA_ALIGNMENT.
std::uint64_t cma_request_in(std::uint64_t begin, std::uint64_t end);

struct CmaMap {
  static constexpr std::size_t kMaxAllocations = 4096;

  struct Area {
    std::string name;  // empty: the kernel's events name none, and its place is not known
    // Absent: the area's place is not known, so pages beyond `pieces` are neither.
    std::optional<std::uint64_t> base_pfn;
    std::optional<std::uint64_t> pages;
    std::uint64_t order = 0;
    std::vector<CmaPiece> pieces;    // what is known, by pfn
    std::uint64_t taken_pieces = 0;  // of them: not free

    std::uint64_t known_pages() const;
    std::optional<std::uint64_t> unknown_pages() const;
    // Whether each page is known.
    bool is_whole() const { return unknown_pages() == 0U; }
    // Of free pages, as though those of some owners were free too (`without`, by owner).
    std::uint64_t largest_free_run(const std::vector<bool>& without = {}) const;
    // In pages: the largest request that a free run meets (cma_request_in).
    std::uint64_t largest_request() const;

    bool operator==(const Area&) const = default;
  };
  std::vector<Area> areas;
  std::vector<CmaOwner> owners;
  std::optional<std::uint64_t> page_bytes;
  std::optional<Nanoseconds> now;  // of the reading, boot clock

  // Since the source began.
  std::uint64_t losses = 0;           // times that everything became unknown
  std::uint64_t omitted = 0;          // allocations beyond kMaxAllocations
  std::uint64_t corrected_pages = 0;  // by the bitmap

  bool operator==(const CmaMap&) const = default;
};

class CmaMapper {
 public:
  // What a reading has to add. False: which events are new is not clear, and nothing was added; by
  // its numbers the next reading goes on.
  [[nodiscard]] bool take(const CmaTrace& trace, CmaMap& map);
  // Nothing is known any more.
  void forget(CmaMap& map);

 private:
  struct Ring {
    std::uint32_t cpu = 0;
    std::uint64_t seen = 0;  // of its events, since the instance was made
    std::uint64_t last = 0;  // CmaRing::shown of the last of them
    std::uint64_t lost = 0;
  };
  struct Side {  // of an area, by index
    // Whose release is under way since `at`. State::kFree: may be.
    std::vector<CmaPiece> awaited;
    std::vector<std::uint32_t> bitmap;  // of the last quiet reading
  };

  void take_bounds(const CmaTrace& trace, CmaMap& map);
  bool has_all(const CmaTrace& trace);
  void take_events(const CmaTrace& trace, CmaMap& map);
  void lose(CmaMap& map);
  std::optional<std::size_t> area_of(const CmaEvent& event, CmaMap& map);
  void take_event(const CmaEvent& event, CmaMap& map);
  std::uint32_t owner_of(const CmaEvent& event, CmaMap& map);
  void take_tasks(const CmaTrace& trace, CmaMap& map);
  void drop_owners(CmaMap& map);
  void compare(const CmaBounds& bounds, std::size_t index, bool was_still, CmaMap& map);
  Ring& ring_of(std::uint32_t cpu);

  std::vector<Ring> rings_;
  bool has_lost_ = false;  // in this reading
  std::vector<Side> sides_;
  // The first event since nothing is known: what was released then may be another's by now.
  std::optional<Nanoseconds> first_;
  // Events that were applied, and how many there were at the last quiet reading.
  std::uint64_t applied_ = 0;
  std::uint64_t quiet_at_ = UINT64_MAX;
  std::uint64_t dropped_at_ = 0;
  std::vector<std::optional<Nanoseconds>> first_of_owner_;  // storage
};

}  // namespace jetmem
