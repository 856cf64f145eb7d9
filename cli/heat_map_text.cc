// Zones by orders, shaded by their share of the zone's free memory; and areas of CMA, a line each.

#include <algorithm>
#include <vector>

#include "cli/bars.h"
#include "cli/figures.h"
#include "cli/status_text.h"

namespace jetmem {
namespace {

using Zone = FragmentationAnswer::Zone;

constexpr std::size_t kName = 8;
constexpr std::size_t kCell = 4;

// "4K", "2M": as short as a column's head.
std::string short_size(const std::optional<double>& bytes, int order) {
  if (!bytes) return "o" + std::to_string(order);
  double size = *bytes / 1024;
  std::string_view unit = "K";
  if (size >= 1024) {
    size /= 1024;
    unit = "M";
  }
  // A column is four wide: 128 is of KiB, what is larger says so.
  if (size >= 100) unit = {};
  return number_text(size).append(unit);
}

std::vector<int> orders_of(const FragmentationAnswer& answer) {
  std::vector<int> orders;
  for (const Zone& zone : answer.zones) {
    for (const auto& order : zone.orders) orders.push_back(order.order);
  }
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

std::string zone_name(const FragmentationAnswer& answer, const Zone& zone) {
  const bool several = answer.zones.front().node != answer.zones.back().node;
  return cut_to(several ? zone.node + "/" + zone.zone : zone.zone, kName - 1);
}

}  // namespace

std::string heat_map_text(const FragmentationAnswer& answer, const ScreenLook& look,
                          std::size_t max_zones) {
  if (answer.zones.empty()) return {};
  std::vector<int> orders = orders_of(answer);
  const std::size_t all = static_cast<std::size_t>(std::max(look.width, 20));
  constexpr std::size_t kTail = 11;
  // On a narrow terminal the small orders go, which never are what is missing.
  while (orders.size() > 4 && kLabelWidth + kName + orders.size() * kCell + kTail > all) {
    orders.erase(orders.begin());
  }
  std::string head(kName, ' ');
  for (const int order : orders) {
    std::optional<double> bytes;
    if (answer.page_bytes) bytes = *answer.page_bytes * static_cast<double>(1ULL << order);
    head += padded(short_size(bytes, order), kCell);
  }
  std::string out = labelled_as_is("free", head + "largest");
  std::size_t shown = 0;
  for (const Zone& zone : answer.zones) {
    if (shown++ == max_zones) break;
    std::string line = padded(zone_name(answer, zone), kName);
    for (const int order : orders) {
      std::optional<double> share;
      for (const auto& each : zone.orders) {
        if (each.order == order) share = each.share;
      }
      line += heat_cell(look, share, kCell - 1) + " ";
    }
    const std::string largest = zone.largest_bytes_outside_cma
                                    ? bytes_text(*zone.largest_bytes_outside_cma)
                                    : std::string("-");
    out += labelled_as_is(shown == 1 ? "blocks" : "", line + largest);
  }
  if (answer.zones.size() > max_zones) {
    out += labelled_as_is(
        "", std::to_string(answer.zones.size() - max_zones) + " more: jetmem fragmentation");
  }
  return out;
}

std::string cma_area_line(const CmaAnswer::Area& area, const ScreenLook& look) {
  Paint paint = Paint::kNone;
  if (area.frame_fit_ratio) paint = *area.frame_fit_ratio < 1 ? Paint::kBad : Paint::kGood;
  std::string out = padded(area.name, 12) + bar(look, area.used_ratio, 14, paint) + " " +
                    ratio_text(area.used_ratio) + " of " + bytes_text(area.bytes) +
                    ", largest free " + bytes_text(area.largest_run_bytes);
  if (area.frame_fit_ratio && area.wanted_bytes) {
    const bool fits = *area.frame_fit_ratio >= 1;
    out += ", " + painted(look, paint, fits ? "fits " : "below ") + bytes_text(*area.wanted_bytes);
  }
  return out;
}

}  // namespace jetmem
