// SPDX-License-Identifier: Apache-2.0
#include "report/answers/fragmentation_answer.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace jetmem {
namespace {

// A page, as free blocks and free bytes of one order give it: the same on the whole machine.
std::optional<double> page_bytes_of(const SampleSet& samples) {
  for (const Sample& sample : samples.family("jetmem_buddy_free_bytes")) {
    const auto order = parse_u64(sample.label("order"));
    const auto blocks =
        samples.value("jetmem_buddy_free_blocks", {{"node", sample.label("node")},
                                                   {"zone", sample.label("zone")},
                                                   {"order", sample.label("order")}});
    if (order && *order < FragmentationAnswer::kMaxOrders && blocks && *blocks > 0 &&
        sample.value > 0) {
      return sample.value / *blocks / std::ldexp(1.0, static_cast<int>(*order));
    }
  }
  return std::nullopt;
}

std::optional<double> bytes_of_order(const std::optional<double>& page,
                                     const std::optional<double>& order) {
  if (!page || !order || *order < 0 || *order >= double{FragmentationAnswer::kMaxOrders})
    return std::nullopt;
  return *page * std::ldexp(1.0, static_cast<int>(*order));
}

void add_orders(FragmentationAnswer::Zone& zone, const DeviceNow& now,
                const std::optional<double>& page) {
  const SampleSet& samples = now.samples;
  double sum = 0;
  for (const Sample& sample : samples.family("jetmem_buddy_free_blocks")) {
    if (sample.label("node") != zone.node || sample.label("zone") != zone.zone) continue;
    const auto order = parse_u64(sample.label("order"));
    if (!order || *order >= FragmentationAnswer::kMaxOrders) continue;
    const std::string_view label = sample.label("order");
    FragmentationAnswer::Order each;
    each.order = static_cast<int>(*order);
    each.block_bytes = bytes_of_order(page, each.order);
    each.free_blocks = sample.value;
    each.free_bytes = samples.value("jetmem_buddy_free_bytes",
                                    {{"node", zone.node}, {"zone", zone.zone}, {"order", label}});
    const auto unusable = [&](const char* cma) {
      return samples.value(
          "jetmem_buddy_unusable_ratio",
          {{"node", zone.node}, {"zone", zone.zone}, {"order", label}, {"cma", cma}});
    };
    each.unusable_ratio = unusable("excluded");
    each.unusable_with_cma_ratio = unusable("included");
    sum += each.free_bytes.value_or(0);
    zone.orders.push_back(each);
  }
  std::sort(zone.orders.begin(), zone.orders.end(),
            [](const FragmentationAnswer::Order& a, const FragmentationAnswer::Order& b) {
              return a.order < b.order;
            });
  for (FragmentationAnswer::Order& order : zone.orders) {
    if (order.free_bytes && sum > 0) order.share = *order.free_bytes / sum;
  }
}

FragmentationAnswer::Zone zone_of(const DeviceNow& now, const std::string& node,
                                  const std::string& name, const std::optional<double>& page) {
  const SampleSet& samples = now.samples;
  FragmentationAnswer::Zone zone;
  zone.node = node;
  zone.zone = name;
  const auto value = [&](const char* family) {
    return samples.value(family, {{"node", node}, {"zone", name}});
  };
  const auto watermark = [&](const char* mark) {
    return samples.value("jetmem_zone_watermark_bytes",
                         {{"node", node}, {"zone", name}, {"watermark", mark}});
  };
  const auto above = [&](const char* mark) {
    return samples.value(
        "jetmem_zone_watermark_distance_bytes",
        {{"node", node}, {"zone", name}, {"watermark", mark}, {"request", "unmovable"}});
  };
  zone.managed_bytes = value("jetmem_zone_managed_bytes");
  zone.free_bytes = value("jetmem_zone_free_bytes");
  zone.free_cma_bytes = value("jetmem_zone_free_cma_bytes");
  zone.largest_order = value("jetmem_buddy_largest_free_order");
  zone.largest_order_outside_cma = value("jetmem_buddy_largest_order_outside_cma");
  zone.largest_bytes_outside_cma = bytes_of_order(page, zone.largest_order_outside_cma);
  zone.watermark_min_bytes = watermark("min");
  zone.watermark_low_bytes = watermark("low");
  zone.watermark_high_bytes = watermark("high");
  zone.watermark_boost_bytes = value("jetmem_zone_watermark_boost_bytes");
  zone.above_min_bytes = above("min");
  zone.above_low_bytes = above("low");
  add_orders(zone, now, page);
  for (const Sample& sample : samples.family("jetmem_pagetype_pageblocks")) {
    if (sample.label("node") == node && sample.label("zone") == name &&
        zone.pageblocks.size() < FragmentationAnswer::kMaxOrders) {
      zone.pageblocks.emplace_back(printable(sample.label("migratetype"), 32), sample.value);
    }
  }
  const std::string why = now.absence_reason("zoneinfo");
  explain(zone.absent, "free_bytes", zone.free_bytes, why);
  explain(zone.absent, "above_min_bytes", zone.above_min_bytes, why);
  const auto known = samples.value("jetmem_buddy_free_cma_known", {{"node", node}, {"zone", name}});
  explain(zone.absent, "largest_order_outside_cma", zone.largest_order_outside_cma,
          known.value_or(0) > 0 ? "no memory is free outside CMA"
                                : "the free memory in CMA is unknown");
  if (zone.pageblocks.empty()) {
    explain(zone.absent, "pageblocks", std::nullopt, now.absence_reason("pagetypeinfo"));
  }
  return zone;
}

// Nodes and zones in the order of memory, as the kernel lists them.
int rank(const std::string& zone) {
  constexpr std::string_view kZones[]{"DMA", "DMA32", "Normal", "HighMem", "Movable", "Device"};
  int at = 0;
  for (const std::string_view name : kZones) {
    if (zone == name) return at;
    ++at;
  }
  return at;
}

}  // namespace

FragmentationAnswer fragmentation_answer(const DeviceNow& now) {
  FragmentationAnswer answer;
  answer.from = answer_from(now);
  const SampleSet& samples = now.samples;
  answer.page_bytes = page_bytes_of(samples);
  std::vector<std::pair<std::string, std::string>> zones;
  for (const Sample& sample : samples.family("jetmem_buddy_free_blocks")) {
    std::pair<std::string, std::string> zone{sample.label("node"), sample.label("zone")};
    if (std::find(zones.begin(), zones.end(), zone) == zones.end()) zones.push_back(zone);
    if (zones.size() > FragmentationAnswer::kMaxZones) break;
  }
  std::sort(zones.begin(), zones.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return rank(a.second) < rank(b.second);
  });
  for (const auto& [node, zone] : zones) {
    if (answer.zones.size() == FragmentationAnswer::kMaxZones) {
      ++answer.zones_omitted;
      continue;
    }
    answer.zones.push_back(zone_of(now, node, zone, answer.page_bytes));
  }
  answer.best_bytes = samples.value("jetmem_buddy_best_outside_cma_bytes");
  answer.evidence = samples.value("jetmem_fragmentation_evidence");
  answer.compact_stall = samples.value("jetmem_vmstat_compact_stall_total");
  answer.compact_success = samples.value("jetmem_vmstat_compact_success_total");
  answer.compact_fail = samples.value("jetmem_vmstat_compact_fail_total");
  answer.thp_fallback = samples.value("jetmem_vmstat_thp_fault_fallback_total");
  answer.allocstall = samples.value("jetmem_vmstat_allocstall_total");
  if (answer.zones.empty())
    explain(answer.absent, "zones", std::nullopt, now.absence_reason("buddyinfo"));
  explain(
      answer.absent, "best_bytes", answer.best_bytes,
      answer.zones.empty() ? now.absence_reason("buddyinfo") : "the free memory in CMA is unknown");
  explain(answer.absent, "evidence", answer.evidence,
          "needs jetmemd, which observes the last 10 min");
  explain(answer.absent, "compact_stall", answer.compact_stall, now.absence_reason("vmstat"));
  explain(answer.absent, "compact_fail", answer.compact_fail, now.absence_reason("vmstat"));
  return answer;
}

static void describe(json::Fields& v, FragmentationAnswer::Order& order) {
  v("order", order.order);
  v("block_bytes", order.block_bytes);
  v("free_blocks", order.free_blocks);
  v("free_bytes", order.free_bytes);
  v("share", order.share);
  v("unusable_ratio", order.unusable_ratio);
  v("unusable_with_cma_ratio", order.unusable_with_cma_ratio);
}

void describe(json::Fields& v, FragmentationAnswer::Zone& zone) {
  v.unless_empty("node", zone.node);
  v.unless_empty("zone", zone.zone);
  v("managed_bytes", zone.managed_bytes);
  v("free_bytes", zone.free_bytes);
  v("free_cma_bytes", zone.free_cma_bytes);
  v("largest_order", zone.largest_order);
  v("largest_order_outside_cma", zone.largest_order_outside_cma);
  v("largest_bytes_outside_cma", zone.largest_bytes_outside_cma);
  v("watermark_min_bytes", zone.watermark_min_bytes);
  v("watermark_low_bytes", zone.watermark_low_bytes);
  v("watermark_high_bytes", zone.watermark_high_bytes);
  v("watermark_boost_bytes", zone.watermark_boost_bytes);
  v("above_min_bytes", zone.above_min_bytes);
  v("above_low_bytes", zone.above_low_bytes);
  v("orders", zone.orders);
  v.unless_empty("pageblocks", zone.pageblocks);
  v.absent(zone.absent);
}

static void describe(json::Fields& v, FragmentationAnswer& answer) {
  describe_head(v, FragmentationAnswer::kSchema, answer.from);
  v("page_bytes", answer.page_bytes);
  v("best_bytes_outside_cma", answer.best_bytes);
  v("evidence", answer.evidence);
  v("compact_stalls", answer.compact_stall);
  v("compact_successes", answer.compact_success);
  v("compact_failures", answer.compact_fail);
  v("thp_fallbacks", answer.thp_fallback);
  v("allocation_stalls", answer.allocstall);
  v("zones", answer.zones);
  v("zones_omitted", answer.zones_omitted);
  v.absent(answer.absent);
}

std::string fragmentation_json(const FragmentationAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
