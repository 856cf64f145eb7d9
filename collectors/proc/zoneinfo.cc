// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kZoneinfoPaths{"/proc/zoneinfo"};

constexpr std::array kZoneinfoMetrics{
    gauge("jetmem_zone_free_bytes",
          "Free memory of the zone, free CMA pages included. A zone can run out while others "
          "have plenty: DMA32 and DMA on Jetson do.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge("jetmem_zone_managed_bytes", "Memory of the zone that the page allocator owns.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge("jetmem_zone_present_bytes",
          "Physical memory in the zone, reserved memory included, holes not.", {"node", "zone"},
          kMaxZoneSeries),
    gauge("jetmem_zone_cma_bytes", "Size of the contiguous memory areas (CMA) in the zone.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge("jetmem_zone_free_cma_bytes",
          "Part of the zone's free memory that lies in contiguous memory areas: only movable "
          "requests and CMA itself can use it, drivers' plain requests cannot.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge("jetmem_zone_watermark_bytes",
          "The zone's watermarks in force, a boost included. Free memory below low wakes kswapd; "
          "below min, programs wait for reclaim themselves.",
          {"node", "zone", "watermark"}, 3 * kMaxZoneSeries),
    gauge("jetmem_zone_watermark_boost_bytes",
          "What the kernel has temporarily added to the zone's watermarks because memory of "
          "different mobility was mixed: an early sign of fragmentation.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge("jetmem_zone_watermark_distance_bytes",
          "Free memory of the zone above its watermark; negative below it. Below high alone is "
          "no alarm: kswapd, once woken, works up to there. For request=unmovable (drivers) free "
          "CMA pages are not counted, as in the kernel's own check: such requests stall first. "
          "Reserves that the zone keeps from requests for higher zones are not subtracted.",
          {"node", "zone", "watermark", "request"}, 6 * kMaxZoneSeries, Worst::kMin),
};
constexpr MetricTable zoneinfo_metric{kZoneinfoMetrics};

// In the order in which the kernel prints them.
struct ZoneField {
  std::string_view name;
  std::optional<std::uint64_t> Zoneinfo::Zone::*value;
};
constexpr std::string_view kZoneStart = "start_pfn:";
constexpr std::array kZoneFields{
    ZoneField{"pages free", &Zoneinfo::Zone::free},
    ZoneField{"boost", &Zoneinfo::Zone::boost},
    ZoneField{"min", &Zoneinfo::Zone::min},
    ZoneField{"low", &Zoneinfo::Zone::low},
    ZoneField{"high", &Zoneinfo::Zone::high},
    ZoneField{"promo", &Zoneinfo::Zone::promo},
    ZoneField{"spanned", &Zoneinfo::Zone::spanned},
    ZoneField{"present", &Zoneinfo::Zone::present},
    ZoneField{"managed", &Zoneinfo::Zone::managed},
    ZoneField{"cma", &Zoneinfo::Zone::cma},
    ZoneField{"nr_free_cma", &Zoneinfo::Zone::free_cma},
    ZoneField{kZoneStart, &Zoneinfo::Zone::start},
};

// Pages that CPUs have freed or taken and not yet handed in: 125 each.
constexpr std::uint64_t kUncountedOfZone = 1U << 15;

// The field that a line begins with and a blank ends.
const ZoneField* field_of(std::string_view line) {
  for (const ZoneField& field : kZoneFields) {
    const std::size_t size = field.name.size();
    if (line.size() > size && line[size] == ' ' && line.starts_with(field.name)) return &field;
  }
  return nullptr;
}

// The largest of "0, 0, 5673, 5673)"; nothing for anything else.
std::optional<std::uint64_t> most_of_list(std::string_view rest) {
  std::uint64_t most = 0;
  do {
    const auto value = take_u64(rest);
    if (!value || *value > kMaxPages) return std::nullopt;
    most = std::max(most, *value);
  } while (take_prefix(rest, ", "));
  return rest == ")" ? std::optional(most) : std::nullopt;
}

class ZoneinfoParser {
 public:
  explicit ZoneinfoParser(Zoneinfo& out) : out_(out), zones_(out.zones), fields_(out.absent) {}

  Result<void> run(std::string_view text) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      line.starts_with("Node ") ? begin_zone(line) : take_line(line);
    }
    if (zone_ != nullptr) finish_zone();
    return fields_.finish(text, "Node N, zone NAME");
  }

 private:
  void begin_zone(std::string_view line) {
    if (zone_ != nullptr) finish_zone();
    if (line.ends_with(", per-node stats")) return;
    const auto id = take_zone(line);
    if (id && trim(line).empty() && zones_.find(&Zoneinfo::Zone::id, *id) == nullptr &&
        zones_.size() < kMaxZones) {
      zone_ = &zones_.add();
      zone_->id = *id;
      in_pagesets_ = false;
      return;
    }
    out_.whole = false;
    fields_.lost(zones_.size() == kMaxZones ? kBeyondBound : kMalformed);
  }

  void take_line(std::string_view line) {
    skip_blanks(line);
    if (zone_ == nullptr) {
      if (zones_.size() == 0 && !line.empty() && out_.whole) fields_.lost();
      return;
    }
    in_pagesets_ = in_pagesets_ || line.starts_with("pagesets");
    if (in_pagesets_ && !line.starts_with(kZoneStart)) return;
    if (take_prefix(line, "protection: (")) {
      zone_->protection = most_of_list(line);
      if (!zone_->protection) fields_.lost();
      return;
    }
    const ZoneField* const field = field_of(line);
    if (field == nullptr) return;
    auto& value = zone_->*field->value;
    // The first stands.
    if (value) return fields_.lost();
    value = fields_.number(line.substr(field->name.size()), kMaxPages);
  }

  // No part exceeds its whole.
  void finish_zone() {
    fields_.bound(zone_->present, zone_->spanned);
    for (auto* part : {&zone_->managed, &zone_->cma}) fields_.bound(*part, zone_->present);
    for (auto* part : {&zone_->free, &zone_->free_cma}) {
      fields_.bound(*part, zone_->present, kUncountedOfZone);
    }
    zone_ = nullptr;
  }

  Zoneinfo& out_;
  Refill<Zoneinfo::Zone> zones_;
  Fields fields_;
  Zoneinfo::Zone* zone_ = nullptr;  // whose lines these are
  bool in_pagesets_ = false;        // which are of CPUs, but for kZoneStart
};

std::optional<double> difference(const std::optional<std::uint64_t>& from,
                                 const std::optional<std::uint64_t>& less) {
  if (!from || !less) return std::nullopt;
  return static_cast<double>(*from) - static_cast<double>(*less);
}

void write_zone(SampleWriter& out, const Zoneinfo::Zone& zone, WriteContext& context) {
  const auto put = [&](const Descriptor& descriptor, const auto& pages, const auto&... labels) {
    if (!pages) return;
    if (!context.facts.page_size) return context.absent.add("page_size_unknown");
    const auto page_size = static_cast<double>(*context.facts.page_size);
    out.put(descriptor, static_cast<double>(*pages) * page_size, zone.id.node, zone.id.name,
            labels...);
  };
  struct Watermark {
    std::string_view name;
    const std::optional<std::uint64_t>& pages;
  };
  const std::array<Watermark, 3> watermarks{
      {{"min", zone.min}, {"low", zone.low}, {"high", zone.high}}};

  put(zoneinfo_metric("jetmem_zone_free_bytes"), zone.free);
  put(zoneinfo_metric("jetmem_zone_managed_bytes"), zone.managed);
  put(zoneinfo_metric("jetmem_zone_present_bytes"), zone.present);
  put(zoneinfo_metric("jetmem_zone_cma_bytes"), zone.cma);
  put(zoneinfo_metric("jetmem_zone_free_cma_bytes"), zone.free_cma);
  for (const Watermark& mark : watermarks) {
    put(zoneinfo_metric("jetmem_zone_watermark_bytes"), mark.pages, mark.name);
  }
  put(zoneinfo_metric("jetmem_zone_watermark_boost_bytes"), zone.boost);
  for (const Watermark& mark : watermarks) {
    put(zoneinfo_metric("jetmem_zone_watermark_distance_bytes"), difference(zone.free, mark.pages),
        mark.name, "movable");
  }
  for (const Watermark& mark : watermarks) {
    auto distance = difference(zone.free, mark.pages);
    if (!zone.free_cma || !distance) continue;
    *distance -= static_cast<double>(*zone.free_cma);
    put(zoneinfo_metric("jetmem_zone_watermark_distance_bytes"), distance, mark.name, "unmovable");
  }
}

}  // namespace

const SourceInfo ZoneinfoSource::kInfo{
    .name = "zoneinfo",
    .what = "free memory, CMA and watermarks of each zone",
    .paths = kZoneinfoPaths,
    .interval = std::chrono::seconds(5),
    .metrics = kZoneinfoMetrics,
};

const Zoneinfo::Zone* Zoneinfo::find(const ZoneId& id) const {
  for (const Zone& zone : zones) {
    if (zone.id == id) return &zone;
  }
  return nullptr;
}

Result<void> parse_zoneinfo(std::string_view text, Zoneinfo& out) {
  out.absent.reset();
  out.whole = true;
  return ZoneinfoParser(out).run(text);
}

void ZoneinfoSource::write(SampleWriter& out, WriteContext& context) const {
  for (const Zoneinfo::Zone& zone : reading_.zones) {
    if (zone.is_populated()) write_zone(out, zone, context);
  }
}

}  // namespace jetmem
