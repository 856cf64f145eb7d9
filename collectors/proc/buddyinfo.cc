// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"

#include <array>
#include <vector>

#include "base/text/text.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kBuddyinfoPaths{"/proc/buddyinfo"};

constexpr std::array kBuddyinfoMetrics{
    gauge("jetmem_buddy_free_blocks",
          "Free blocks of 2^order contiguous pages, free CMA pages included. When the high "
          "orders run empty while memory is free, memory is fragmented and drivers that need "
          "contiguous buffers fail.",
          {"node", "zone", "order"}, kMaxOrderSeries),
    gauge("jetmem_buddy_free_bytes",
          "Memory in the free blocks of exactly this order, free CMA pages included. The sum "
          "over the orders is the zone's free memory.",
          {"node", "zone", "order"}, kMaxOrderSeries),
    gauge("jetmem_buddy_largest_free_order",
          "Order of the largest free block, free CMA pages included: a driver may get less, see "
          "jetmem_buddy_largest_order_outside_cma. Absent when the zone has no free block.",
          {"node", "zone"}, kMaxZoneSeries),
};
enum BuddyinfoMetric { kFreeBlocks, kFreeBytes, kLargestFreeOrder };

// "Node N, zone NAME" and its counts.
bool take_blocks(std::string_view line, Fields& fields, Refill<Buddyinfo::Zone>& zones) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto id = take_zone(line);
  const bool is_new = id && zones.find(&Buddyinfo::Zone::id, *id) == nullptr;
  Buddyinfo::Zone zone;
  if (is_new && !take_counts(line, fields, zone.blocks, zone.orders)) return false;
  if (zone.orders == 0) {
    fields.lost();
    return false;
  }
  if (zones.size() == kMaxZones) {
    fields.lost(kBeyondBound);
    return false;
  }
  zone.id = *id;
  zones.add() = std::move(zone);
  return true;
}

// All have the same: that of most lines, and where two are as frequent the larger.
std::size_t orders_of(const std::vector<Buddyinfo::Zone>& zones) {
  std::array<std::size_t, kMaxOrders + 1> lines{};
  for (const Buddyinfo::Zone& zone : zones) ++lines[zone.orders];
  std::size_t most = kMaxOrders;
  for (std::size_t orders = kMaxOrders; orders-- > 0;) {
    if (lines[orders] > lines[most]) most = orders;
  }
  return most;
}

}  // namespace

const SourceInfo BuddyinfoSource::kInfo{
    .name = "buddyinfo",
    .what = "free blocks by zone and order: how contiguous free memory is",
    .paths = kBuddyinfoPaths,
    .interval = std::chrono::seconds(5),
    .metrics = kBuddyinfoMetrics,
};

std::optional<unsigned> Buddyinfo::Zone::largest_free_order() const {
  for (std::size_t order = orders; order-- > 0;) {
    if (blocks[order] != 0) return static_cast<unsigned>(order);
  }
  return std::nullopt;
}

std::uint64_t Buddyinfo::total_blocks() const {
  std::uint64_t total = 0;
  for (const Zone& zone : zones) {
    for (const std::uint64_t count : zone.counts()) total += count;
  }
  return total;
}

bool take_counts(std::string_view rest, Fields& fields,
                 std::array<std::uint64_t, kMaxOrders>& blocks, std::size_t& orders,
                 std::uint32_t* capped) {
  std::uint64_t pages = 0;
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
    if (orders == kMaxOrders) {
      fields.lost(kBeyondBound);
      return false;
    }
    if (capped != nullptr && take_prefix(word, ">")) *capped |= 1U << orders;
    const auto count = fields.number(word, (kMaxPages - pages) >> orders);
    if (!count) return false;
    pages += *count << orders;
    blocks[orders++] = *count;
  }
  return true;
}

Result<void> parse_buddyinfo(std::string_view text, Buddyinfo& out) {
  out.absent.reset();
  out.whole = true;
  Fields fields(out.absent);
  {
    Refill<Buddyinfo::Zone> zones(out.zones);
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (!trim(line).empty()) out.whole &= take_blocks(line, fields, zones);
    }
  }
  const auto odd = std::erase_if(out.zones, [orders = orders_of(out.zones)](const auto& zone) {
    return zone.orders != orders;
  });
  for (std::size_t i = 0; i < odd; ++i) fields.lost();
  out.whole &= odd == 0;
  return fields.finish(text, "Node N, zone NAME, numbers");
}

void BuddyinfoSource::write(SampleWriter& out, WriteContext& context) const {
  const auto page_size = context.facts.page_size;
  for (const Buddyinfo::Zone& zone : reading_.zones) {
    const std::string_view name = zone.id.name;
    for (std::size_t order = 0; order < zone.orders; ++order) {
      out.put(kBuddyinfoMetrics[kFreeBlocks], zone.blocks[order], zone.id.node, name, order);
    }
    if (page_size) {
      auto block_bytes = static_cast<double>(*page_size);
      for (std::size_t order = 0; order < zone.orders; ++order, block_bytes *= 2) {
        out.put(kBuddyinfoMetrics[kFreeBytes],
                static_cast<double>(zone.blocks[order]) * block_bytes, zone.id.node, name, order);
      }
    } else {
      context.absent.add("page_size_unknown", zone.orders);
    }
    if (const auto largest = zone.largest_free_order()) {
      out.put(kBuddyinfoMetrics[kLargestFreeOrder], *largest, zone.id.node, name);
    } else {
      context.absent.add("no_free_block");
    }
  }
}

}  // namespace jetmem
