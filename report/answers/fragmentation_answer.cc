#include "report/answers/fragmentation_answer.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace jetmem {
namespace {

using nlohmann::ordered_json;
using Answer = FragmentationAnswer;

// A page, as free blocks and free bytes of one order give it: the same on the whole machine.
std::optional<double> page_bytes_of(const SampleSet& samples) {
  for (const Sample& sample : samples.family("jetmem_buddy_free_bytes")) {
    const auto order = parse_u64(sample.label("order"));
    const auto blocks =
        samples.value("jetmem_buddy_free_blocks", {{"node", sample.label("node")},
                                                   {"zone", sample.label("zone")},
                                                   {"order", sample.label("order")}});
    if (order && *order < Answer::kMaxOrders && blocks && *blocks > 0 && sample.value > 0) {
      return sample.value / *blocks / std::ldexp(1.0, static_cast<int>(*order));
    }
  }
  return std::nullopt;
}

std::optional<double> bytes_of_order(const std::optional<double>& page,
                                     const std::optional<double>& order) {
  if (!page || !order || *order < 0 || *order >= double{Answer::kMaxOrders}) return std::nullopt;
  return *page * std::ldexp(1.0, static_cast<int>(*order));
}

void add_orders(Answer::Zone& zone, const DeviceNow& now, const std::optional<double>& page) {
  const SampleSet& samples = now.samples;
  double sum = 0;
  for (const Sample& sample : samples.family("jetmem_buddy_free_blocks")) {
    if (sample.label("node") != zone.node || sample.label("zone") != zone.zone) continue;
    const auto order = parse_u64(sample.label("order"));
    if (!order || *order >= Answer::kMaxOrders) continue;
    const std::string_view label = sample.label("order");
    Answer::Order each;
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
            [](const Answer::Order& a, const Answer::Order& b) { return a.order < b.order; });
  for (Answer::Order& order : zone.orders) {
    if (order.free_bytes && sum > 0) order.share = *order.free_bytes / sum;
  }
}

Answer::Zone zone_of(const DeviceNow& now, const std::string& node, const std::string& name,
                     const std::optional<double>& page) {
  const SampleSet& samples = now.samples;
  Answer::Zone zone;
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
        zone.pageblocks.size() < Answer::kMaxOrders) {
      zone.pageblocks.emplace_back(printable(sample.label("migratetype"), 32), sample.value);
    }
  }
  const std::string why = now.why_absent("zoneinfo");
  explain(zone.absent, "free_bytes", zone.free_bytes, why);
  explain(zone.absent, "above_min_bytes", zone.above_min_bytes, why);
  const auto known = samples.value("jetmem_buddy_free_cma_known", {{"node", node}, {"zone", name}});
  explain(zone.absent, "largest_order_outside_cma", zone.largest_order_outside_cma,
          known.value_or(0) > 0 ? "nothing is free outside contiguous memory areas"
                                : "how much of the free memory is CMA's is not known");
  if (zone.pageblocks.empty()) {
    explain(zone.absent, "pageblocks", std::nullopt, now.why_absent("pagetypeinfo"));
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
  Answer answer;
  answer.from = answer_from(now);
  const SampleSet& samples = now.samples;
  answer.page_bytes = page_bytes_of(samples);
  std::vector<std::pair<std::string, std::string>> zones;
  for (const Sample& sample : samples.family("jetmem_buddy_free_blocks")) {
    std::pair<std::string, std::string> zone{sample.label("node"), sample.label("zone")};
    if (std::find(zones.begin(), zones.end(), zone) == zones.end()) zones.push_back(zone);
    if (zones.size() > Answer::kMaxZones) break;
  }
  std::sort(zones.begin(), zones.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return rank(a.second) < rank(b.second);
  });
  for (const auto& [node, zone] : zones) {
    if (answer.zones.size() == Answer::kMaxZones) {
      ++answer.zones_left_out;
      continue;
    }
    answer.zones.push_back(zone_of(now, node, zone, answer.page_bytes));
  }
  answer.best_order = samples.value("jetmem_buddy_best_order_outside_cma");
  answer.best_bytes = bytes_of_order(answer.page_bytes, answer.best_order);
  answer.evidence = samples.value("jetmem_fragmentation_evidence");
  answer.compact_stall = samples.value("jetmem_vmstat_compact_stall_total");
  answer.compact_success = samples.value("jetmem_vmstat_compact_success_total");
  answer.compact_fail = samples.value("jetmem_vmstat_compact_fail_total");
  answer.thp_fallback = samples.value("jetmem_vmstat_thp_fault_fallback_total");
  answer.allocstall = samples.value("jetmem_vmstat_allocstall_total");
  for (const Sample& sample : samples.family("jetmem_compactions_total")) {
    answer.compactions = answer.compactions.value_or(0) + sample.value;
  }
  if (answer.zones.empty())
    explain(answer.absent, "zones", std::nullopt, now.why_absent("buddyinfo"));
  explain(answer.absent, "best_order", answer.best_order,
          answer.zones.empty() ? now.why_absent("buddyinfo")
                               : "how much of the free memory is CMA's is not known");
  explain(answer.absent, "evidence", answer.evidence,
          "only jetmemd, which saw the last ten minutes, can tell");
  explain(answer.absent, "compact_stall", answer.compact_stall, now.why_absent("vmstat"));
  explain(answer.absent, "compact_fail", answer.compact_fail, now.why_absent("vmstat"));
  return answer;
}

ordered_json fragmentation_zone_json(const Answer::Zone& zone) {
  ordered_json out{{"node", printable(zone.node, 32)}, {"zone", printable(zone.zone, 32)}};
  put(out, "managed_bytes", zone.managed_bytes);
  put(out, "free_bytes", zone.free_bytes);
  put(out, "free_cma_bytes", zone.free_cma_bytes);
  put(out, "largest_order", zone.largest_order);
  put(out, "largest_order_outside_cma", zone.largest_order_outside_cma);
  put(out, "largest_bytes_outside_cma", zone.largest_bytes_outside_cma);
  put(out, "watermark_min_bytes", zone.watermark_min_bytes);
  put(out, "watermark_low_bytes", zone.watermark_low_bytes);
  put(out, "watermark_high_bytes", zone.watermark_high_bytes);
  put(out, "watermark_boost_bytes", zone.watermark_boost_bytes);
  put(out, "above_min_bytes", zone.above_min_bytes);
  put(out, "above_low_bytes", zone.above_low_bytes);
  ordered_json& orders = out["orders"] = ordered_json::array();
  for (const Answer::Order& order : zone.orders) {
    ordered_json each{{"order", order.order}};
    put(each, "block_bytes", order.block_bytes);
    put(each, "free_blocks", order.free_blocks);
    put(each, "free_bytes", order.free_bytes);
    put(each, "share", order.share);
    put(each, "unusable_ratio", order.unusable_ratio);
    put(each, "unusable_with_cma_ratio", order.unusable_with_cma_ratio);
    orders.push_back(std::move(each));
  }
  for (const auto& [type, blocks] : zone.pageblocks) out["pageblocks"][type] = blocks;
  put_absences(out, zone.absent);
  return out;
}

std::string fragmentation_json(const Answer& answer) {
  ordered_json out = answer_head(Answer::kSchema, answer.from);
  put(out, "page_bytes", answer.page_bytes);
  put(out, "best_order_outside_cma", answer.best_order);
  put(out, "best_bytes_outside_cma", answer.best_bytes);
  put(out, "evidence", answer.evidence);
  put(out, "compact_stalls", answer.compact_stall);
  put(out, "compact_successes", answer.compact_success);
  put(out, "compact_failures", answer.compact_fail);
  put(out, "thp_fallbacks", answer.thp_fallback);
  put(out, "allocation_stalls", answer.allocstall);
  put(out, "compactions", answer.compactions);
  ordered_json& zones = out["zones"] = ordered_json::array();
  for (const Answer::Zone& zone : answer.zones) zones.push_back(fragmentation_zone_json(zone));
  out["zones_left_out"] = answer.zones_left_out;
  put_absences(out, answer.absent);
  return answer_text(out);
}

}  // namespace jetmem
