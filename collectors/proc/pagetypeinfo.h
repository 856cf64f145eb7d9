// SPDX-License-Identifier: Apache-2.0
// /proc/pagetypeinfo: free blocks and pageblocks by mobility type. The only plain source that shows
// unmovable pages spreading over memory, and a dear one. Root only.
//
// Format (mm/vmstat.c, pagetypeinfo_show), for each node with memory:
//   Page block order: 9
//   Pages per block:  512
//
//   Free pages count per migrate type at order       0      1      2 ...
//   Node    0, zone   Normal, type    Unmovable     97     61     38 ...
//   ...
//
//   Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA ...
//   Node 0, zone   Normal          160          590           33            0          232 ...
// and, with CONFIG_PAGE_OWNER in use, a third table "Number of mixed blocks", which is passed over.
// The types depend on the kernel's configuration; their names are taken from the text. A list of
// 100000 blocks or more is not counted to its end: ">100000".
//
// Cost: the kernel counts by walking every free list with the zone's lock held and interrupts off,
// 33 to 49 ns a free block measured, so that it is dearest on the machine whose memory is most
// fragmented. Since 5.4 it lets go of the lock between lists and stops at 100000; before, one list
// of millions of blocks stops a CPU for as long as it takes. Hence the gate, and 5 minutes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/zone.h"
#include "collectors/source.h"

namespace jetmem {

struct Pagetypeinfo : Reading {
  // One zone and type.
  struct Row {
    ZoneId zone;
    std::string type;  // as printed: "Unmovable"
    // Free blocks by order; the first `orders` are meant. Where the bit of an order is set in
    // `capped`, the kernel stopped counting and the number is a lower bound.
    std::array<std::uint64_t, kMaxOrders> blocks{};
    std::size_t orders = 0;
    std::uint32_t capped = 0;
    std::uint64_t pageblocks = 0;

    bool is_capped(std::size_t order) const { return ((capped >> order) & 1U) != 0; }
    std::uint64_t total_blocks() const;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;  // by zone, then by type, in the kernel's order

  // Free blocks that the kernel walked to print these rows.
  std::uint64_t total_blocks() const;
};

// An odd line costs its row, in the second table all rows of its zone (collectors/fields.h). A row
// that is in one table only is dropped, too. Errors: no row at all, a text that ends early. `out`
// is reused: its storage, not its content.
Result<void> parse_pagetypeinfo(std::string_view text, Pagetypeinfo& out);

struct KernelVersion {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): to clang-tidy 14 its 0 is a pointer
  auto operator<=>(const KernelVersion&) const = default;
};
// "5.10.120-tegra" -> 5.10
std::optional<KernelVersion> parse_osrelease(std::string_view release);

// Why reading now would cost the device too much; absent when it would not. `measured` is the cost
// of one free block in the read before, in nanoseconds.
std::optional<Error> pagetypeinfo_refusal(std::string_view osrelease, const Buddyinfo* buddyinfo,
                                          double measured);

class PagetypeinfoSource final : public SourceOf<PagetypeinfoSource, Pagetypeinfo> {
 public:
  // With an empty `osrelease` the gate asks the running kernel.
  explicit PagetypeinfoSource(std::string osrelease = {}) : osrelease_(std::move(osrelease)) {}

  static const SourceInfo kInfo;
  std::optional<Error> gate(const Readings& readings) override;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  std::string osrelease_;
  double ns_per_block_ = 0;  // measured by the last read
};

}  // namespace jetmem
