// SPDX-License-Identifier: Apache-2.0
#include "health/memory/compaction_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_integers.h"
#include "base/text/text.h"
#include "health/memory/fragmentation.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const FreeBlocks& free) {
  Json unusable = Json::object();
  for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
    unusable[std::to_string(kCompactionOrders[i])] = or_null(free.unusable[i]);
  }
  return {{"largest_order", or_null(free.largest_order)}, {"unusable_ratio", std::move(unusable)}};
}

}  // namespace

std::vector<ZoneFree> free_blocks(const Buddyinfo& buddyinfo, const Zoneinfo& zoneinfo) {
  std::vector<ZoneFree> all;
  for (Buddyinfo::Zone zone : buddyinfo.zones) {
    ZoneFree& to = all.emplace_back();
    to.id = zone.id;
    const Zoneinfo::Zone* const info = zoneinfo.find(zone.id);
    if (info == nullptr || !info->free_cma) continue;
    without_cma({zone.blocks.data(), zone.orders}, *info->free_cma);
    to.free.largest_order = zone.largest_free_order();
    for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
      if (kCompactionOrders[i] >= zone.orders) continue;
      to.free.unusable[i] = unusable_index(zone.counts(), kCompactionOrders[i]);
    }
  }
  return all;
}

CompactionReport compaction_report(const std::vector<ZoneFree>& before,
                                   const std::vector<ZoneFree>& after, Nanoseconds elapsed) {
  CompactionReport report;
  report.elapsed = elapsed;
  for (const ZoneFree& zone : before) {
    const auto same = std::find_if(after.begin(), after.end(),
                                   [&](const ZoneFree& other) { return other.id == zone.id; });
    if (same != after.end()) report.zones.push_back({zone.id, zone.free, same->free});
  }
  return report;
}

std::string to_json(const CompactionReport& report) {
  Json zones = Json::array();
  for (const CompactionReport::Zone& zone : report.zones) {
    zones.push_back({{"node", zone.id.node},
                     {"zone", zone.id.name},
                     {"before", to_json(zone.before)},
                     {"after", to_json(zone.after)}});
  }
  Json json{
      {"format", kFormat}, {"seconds", to_seconds(report.elapsed)}, {"zones", std::move(zones)}};
  use_integers(json);
  return json.dump() + "\n";
}

std::string compaction_error_json(std::string_view why) {
  const Json json{{"format", kFormat}, {"error", printable(why, 500)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace jetmem
