// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"

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

// The counts of one line; the rest of the line is consumed up to its newline.
Result<void> take_counts(const Lines& lines, std::string_view rest, Buddyinfo::Zone& zone) {
  std::size_t order = 0;
  std::uint64_t pages = 0;
  while (true) {
    const auto count = take_u64(rest);
    if (!count) break;
    if (order == kMaxOrders) return lines.malformed("more than 32 orders");
    if (*count > (kMaxPages >> order)) {
      return lines.malformed(std::to_string(*count) + " free blocks of order " +
                             std::to_string(order) + " are more than any machine has");
    }
    pages += *count << order;
    zone.blocks[order++] = *count;
  }
  skip_blanks(rest);
  if (!rest.empty()) {
    return lines.malformed("expected a number that fits 64 bits, found '" + printable(rest, 30) +
                           "'");
  }
  if (order == 0) return lines.malformed("no counts behind the zone's name");
  if (pages > kMaxPages) return lines.malformed("more free pages than any machine has");
  zone.orders = order;
  return {};
}

Result<void> parse_lines(std::string_view text, std::vector<Buddyinfo::Zone>& zones) {
  Lines lines(text);
  std::string_view line;
  std::size_t count = 0;
  bool same_zones = true;  // as in the reading before: then none is there twice
  while (lines.next(line)) {
    const auto zone = take_zone(line);
    if (!zone) {
      return lines.malformed("expected 'Node N, zone NAME', found '" + printable(line, 60) + "'");
    }
    if (count == kMaxZones) return lines.malformed("more than 256 zones");
    if (count == zones.size()) zones.emplace_back();
    Buddyinfo::Zone& out = zones[count];
    if (!(out.id == *zone)) {
      out.id = *zone;
      same_zones = false;
    }
    if (auto ok = take_counts(lines, line, out); !ok) return ok;
    if (out.orders != zones[0].orders) {
      return lines.malformed(std::to_string(out.orders) + " orders, expected " +
                             std::to_string(zones[0].orders));
    }
    ++count;
  }
  if (count == 0) return fail(Errc::kMalformed, "empty");
  if (!ends_complete(text)) return lines.malformed("cut off: no newline at its end");
  zones.resize(count);
  if (same_zones) return {};
  if (const auto twin = find_twin(zones, &Buddyinfo::Zone::id)) {
    const ZoneId& id = zones[*twin].id;
    return fail(Errc::kMalformed, "line " + std::to_string(*twin + 1) + ": zone " + id.name +
                                      " of node " + std::to_string(id.node) + " twice");
  }
  return {};
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

Result<void> parse_buddyinfo(std::string_view text, Buddyinfo& out) {
  auto ok = parse_lines(text, out.zones);
  // What a refused text left behind must not be taken for checked zones next time.
  if (!ok) out.zones.clear();
  return ok;
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
