#include "health/compaction_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "health/fragmentation.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kMaxChangesTold = 8;
constexpr double kMaxSeconds = 86'400;

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

std::uint64_t count_of(const Json& json, std::uint64_t most) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) {
    throw Json::other_error::create(501, "not a count", &json);
  }
  return json.get<std::uint64_t>();
}

double number_of(const Json& json, double most) {
  if (!json.is_number() || !(json.get<double>() >= 0) || !(json.get<double>() <= most)) {
    throw Json::other_error::create(501, "not a number in its range", &json);
  }
  return json.get<double>();
}

FreeBlocks free_of(const Json& json) {
  FreeBlocks free;
  const Json& order = json.at("largest_order");
  if (!order.is_null()) free.largest_order = static_cast<unsigned>(count_of(order, kMaxOrders - 1));
  for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
    const Json& ratio = json.at("unusable_ratio").at(std::to_string(kCompactionOrders[i]));
    if (!ratio.is_null()) free.unusable[i] = number_of(ratio, 1);
  }
  return free;
}

bool is_zone_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxZoneName &&
         std::all_of(name.begin(), name.end(), is_zone_name_char);
}

CompactionReport report_of(const Json& json) {
  CompactionReport report;
  const double seconds = number_of(json.at("seconds"), kMaxSeconds);
  report.took = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
  const Json& zones = json.at("zones");
  if (!zones.is_array() || zones.size() > kMaxZones) {
    throw Json::other_error::create(501, "not a list of zones", &zones);
  }
  for (const Json& each : zones) {
    CompactionReport::Zone zone;
    zone.id.node = static_cast<std::uint32_t>(count_of(each.at("node"), UINT16_MAX));
    zone.id.name = each.at("zone").get<std::string>();
    if (!is_zone_name(zone.id.name)) throw Json::other_error::create(501, "not a zone", &each);
    zone.before = free_of(each.at("before"));
    zone.after = free_of(each.at("after"));
    report.zones.push_back(std::move(zone));
  }
  return report;
}

std::string order_words(const std::optional<unsigned>& order) {
  return order ? std::to_string(*order) : "none";
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
                                   const std::vector<ZoneFree>& after, Nanoseconds took) {
  CompactionReport report;
  report.took = took;
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
  const Json json{
      {"format", kFormat}, {"seconds", to_seconds(report.took)}, {"zones", std::move(zones)}};
  return json.dump() + "\n";
}

std::string compaction_error_json(std::string_view why) {
  const Json json{{"format", kFormat}, {"error", printable(why, 500)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CompactionReport> parse_compaction_report(std::string_view text) {
  try {
    // Nested without end, it would take the stack with it.
    if (text.size() > CompactionReport::kMaxBytes) return fail(Errc::kTooLarge, "too long");
    const Json json = Json::parse(text);
    if (!json.is_object() || json.at("format") != kFormat) {
      return fail(Errc::kMalformed, "not of this version's format");
    }
    if (json.contains("error")) {
      return fail(Errc::kUnavailable, printable(json.at("error").get<std::string>(), 500));
    }
    return report_of(json);
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

std::string largest_orders_changed(const CompactionReport& report) {
  std::string words;
  std::size_t changes = 0;
  for (const CompactionReport::Zone& zone : report.zones) {
    if (zone.before.largest_order == zone.after.largest_order) continue;
    if (++changes > kMaxChangesTold) continue;
    words += words.empty() ? "node " : ", node ";
    words += std::to_string(zone.id.node) + " " + zone.id.name + " " +
             order_words(zone.before.largest_order) + " -> " +
             order_words(zone.after.largest_order);
  }
  if (changes > kMaxChangesTold) {
    words += " and " + std::to_string(changes - kMaxChangesTold) + " more zones";
  }
  return words;
}

}  // namespace jetmem
