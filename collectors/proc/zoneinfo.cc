// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text/text.h"
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
consteval const Descriptor& metric(std::string_view name) {
  return find_metric(kZoneinfoMetrics, name);
}

// In the order in which the kernel prints them.
enum Field : unsigned {
  kIsFree,
  kIsBoost,
  kIsMin,
  kIsLow,
  kIsHigh,
  kIsPromo,
  kIsSpanned,
  kIsPresent,
  kIsManaged,
  kIsCma,
  kIsFreeCma,
  kFieldCount
};
constexpr std::array<std::string_view, kFieldCount> kFieldNames{
    "pages free", "boost",   "min",     "low", "high",        "promo",
    "spanned",    "present", "managed", "cma", "nr_free_cma",
};
constexpr unsigned bit(Field field) { return 1U << field; }
constexpr unsigned kRequired = bit(kIsFree) | bit(kIsMin) | bit(kIsLow) | bit(kIsHigh) |
                               bit(kIsSpanned) | bit(kIsPresent) | bit(kIsManaged);

constexpr std::string_view kNodeStats = "\n  per-node stats\n";
constexpr std::string_view kFirstField = "\n  pages free ";
constexpr std::string_view kPagesets = "pagesets";
constexpr std::string_view kProtection = "protection: (";

bool begins(const char* p, const char* end, std::string_view prefix) {
  return static_cast<std::size_t>(end - p) >= prefix.size() &&
         std::memcmp(p, prefix.data(), prefix.size()) == 0;
}

// What was found in one zone's paragraph.
struct Fields {
  std::array<std::uint64_t, kFieldCount> values{};
  unsigned seen = 0;
  std::optional<std::uint64_t> protection;

  std::optional<std::uint64_t> get(Field field) const {
    return (seen & bit(field)) != 0 ? std::optional(values[field]) : std::nullopt;
  }
};

// Goes through the file once. Most of its lines are counters that nobody needs here, so they are
// stepped over and only counted when an error has to say where it is.
class ZoneinfoParser {
 public:
  ZoneinfoParser(std::string_view text, std::vector<Zoneinfo::Zone>& zones)
      : text_(text), end_(text.data() + text.size()), zones_(zones) {}

  Result<void> run() {
    if (text_.empty()) return fail(Errc::kMalformed, "empty");
    if (!ends_complete(text_)) {
      return malformed_at(text_, text_.size(), "cut off: no newline at its end");
    }
    const char* p = text_.data();
    while (p != end_) {
      const char* const next = paragraph_end(p);
      if (auto ok = paragraph(p, next); !ok) return ok;
      p = next;
    }
    if (count_ == 0) return fail(Errc::kMalformed, "no zone");
    zones_.resize(count_);
    return same_zones_ ? Result<void>() : refuse_twins();
  }

 private:
  tl::unexpected<Error> malformed(const char* at, std::string_view what) const {
    return malformed_at(text_, static_cast<std::size_t>(at - text_.data()), what);
  }
  std::string line_at(const char* p) const {
    const auto* newline =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p)));
    return printable({p, static_cast<std::size_t>(newline - p)}, 60);
  }

  // Where the next line that begins with "Node " stands. Capital N is so rare in this file that
  // looking for it takes the CPU's widest steps.
  const char* paragraph_end(const char* p) const {
    while (true) {
      ++p;
      p = static_cast<const char*>(std::memchr(p, 'N', static_cast<std::size_t>(end_ - p)));
      if (p == nullptr) return end_;
      if (p[-1] == '\n' && begins(p, end_, "Node ")) return p;
    }
  }

  Result<void> paragraph(const char* p, const char* end) {
    std::string_view rest(p, static_cast<std::size_t>(end - p));
    const auto zone = take_zone(rest);
    if (!zone) {
      if (is_node_paragraph(rest)) return {};
      return malformed(p, "expected 'Node N, zone NAME', found '" + line_at(p) + "'");
    }
    if (rest.front() != '\n') {
      return malformed(p, "unexpected text behind the zone's name: '" + line_at(p) + "'");
    }
    if (count_ == kMaxZones) return malformed(p, "more than 256 zones");

    Fields fields;
    if (auto ok = body(rest.data(), end, fields); !ok) return ok;
    for (unsigned i = 0; i < kFieldCount; ++i) {
      const auto field = static_cast<Field>(i);
      if ((kRequired & ~fields.seen & bit(field)) == 0) continue;
      return malformed(p, "zone " + std::string(zone->name) + " has no '" +
                              std::string(kFieldNames[field]) + "'");
    }
    store(*zone, fields);
    return {};
  }

  static bool is_node_paragraph(std::string_view text) {
    return take_prefix(text, "Node ") && take_u64(text) && take_prefix(text, ", per-node stats\n");
  }

  // From the newline behind the zone's name to "pagesets" or the end of the paragraph.
  Result<void> body(const char* p, const char* end, Fields& fields) {
    if (begins(p, end, kNodeStats)) {
      const void* first =
          memmem(p, static_cast<std::size_t>(end - p), kFirstField.data(), kFirstField.size());
      if (first != nullptr) p = static_cast<const char*>(first);
    }
    unsigned expected = kIsFree;
    while (++p < end) {  // over the newline
      while (*p == ' ') ++p;
      // Most lines are nr_* counters and numa_*: one comparison each.
      if (const auto field = *p == 'n' ? field_at(p, end, kIsFreeCma, 1)
                                       : field_at(p, end, expected, kFieldCount)) {
        if (auto ok = number(p + kFieldNames[*field].size(), *field, p, fields); !ok) return ok;
        expected = *field + 1U;
      } else if (begins(p, end, kPagesets)) {
        return {};
      } else if (begins(p, end, kProtection)) {
        const char* const list = p + kProtection.size();
        fields.protection = most_of_list({list, static_cast<std::size_t>(end - list)});
      }
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    }
    return {};
  }

  // Which of `tries` fields begins at `p`, from `first` on: what the kernel prints next.
  static std::optional<Field> field_at(const char* p, const char* end, unsigned first,
                                       unsigned tries) {
    for (unsigned i = 0; i < tries; ++i, ++first) {
      if (first >= kFieldCount) first = 0;
      const std::string_view name = kFieldNames[first];
      if (*p != name[0] || !begins(p, end, name) || p[name.size()] != ' ') continue;
      return static_cast<Field>(first);
    }
    return std::nullopt;
  }

  // The largest of "0, 0, 5673, 5673)\n"; nothing for anything else.
  static std::optional<std::uint64_t> most_of_list(std::string_view rest) {
    std::uint64_t most = 0;
    do {
      const auto value = take_u64(rest);
      if (!value || *value > kMaxPages) return std::nullopt;
      most = std::max(most, *value);
    } while (take_prefix(rest, ", "));
    return take_prefix(rest, ")\n") ? std::optional(most) : std::nullopt;
  }

  Result<void> number(const char* p, Field field, const char* line, Fields& fields) const {
    const auto name = [&] { return "'" + std::string(kFieldNames[field]) + "'"; };
    if ((fields.seen & bit(field)) != 0) return malformed(line, name() + " twice in one zone");
    std::string_view rest(p, static_cast<std::size_t>(end_ - p));
    const auto value = take_u64(rest);
    // The text ends with a newline, so that something is always left.
    if (!value || rest.front() != '\n') {
      return malformed(line, "expected one number that fits 64 bits behind " + name() +
                                 ", found '" + line_at(line) + "'");
    }
    if (*value > kMaxPages) {
      return malformed(
          line, name() + ": " + std::to_string(*value) + " pages are more than any machine has");
    }
    fields.values[field] = *value;
    fields.seen |= bit(field);
    return {};
  }

  void store(const ZoneText& id, const Fields& fields) {
    if (count_ == zones_.size()) zones_.emplace_back();
    Zoneinfo::Zone& zone = zones_[count_++];
    if (!(zone.id == id)) {
      zone.id = id;
      same_zones_ = false;
    }
    zone.free = fields.values[kIsFree];
    zone.min = fields.values[kIsMin];
    zone.low = fields.values[kIsLow];
    zone.high = fields.values[kIsHigh];
    zone.spanned = fields.values[kIsSpanned];
    zone.present = fields.values[kIsPresent];
    zone.managed = fields.values[kIsManaged];
    zone.boost = fields.get(kIsBoost);
    zone.promo = fields.get(kIsPromo);
    zone.cma = fields.get(kIsCma);
    zone.free_cma = fields.get(kIsFreeCma);
    zone.protection = fields.protection;
  }

  Result<void> refuse_twins() const {
    const auto twin = find_twin(zones_, &Zoneinfo::Zone::id);
    if (!twin) return {};
    const ZoneId& id = zones_[*twin].id;
    return malformed(paragraph_of(*twin),
                     "zone " + id.name + " of node " + std::to_string(id.node) + " twice");
  }

  // Where the paragraph of this zone begins.
  const char* paragraph_of(std::size_t zone) const {
    for (const char* p = text_.data(); p != end_; p = paragraph_end(p)) {
      std::string_view rest(p, static_cast<std::size_t>(end_ - p));
      if (take_zone(rest) && zone-- == 0) return p;
    }
    return end_;
  }

  std::string_view text_;
  const char* end_;
  std::vector<Zoneinfo::Zone>& zones_;
  std::size_t count_ = 0;
  bool same_zones_ = true;  // as in the reading before: then none is there twice
};

// How many samples write_zone() writes.
std::uint64_t samples_of(const Zoneinfo::Zone& zone) {
  return 9U + (zone.cma ? 1U : 0U) + (zone.boost ? 1U : 0U) + (zone.free_cma ? 4U : 0U);
}

void write_zone(SampleWriter& out, const Zoneinfo::Zone& zone, double page_size) {
  const std::uint32_t node = zone.id.node;
  const std::string_view name = zone.id.name;
  const auto bytes = [&](std::uint64_t pages) { return static_cast<double>(pages) * page_size; };
  const auto put = [&](const Descriptor& descriptor, const std::optional<std::uint64_t>& pages,
                       const auto&... labels) {
    if (pages) out.put(descriptor, bytes(*pages), node, name, labels...);
  };
  struct Watermark {
    std::string_view name;
    std::uint64_t pages;
  };
  const std::array<Watermark, 3> watermarks{
      {{"min", zone.min}, {"low", zone.low}, {"high", zone.high}}};

  put(metric("jetmem_zone_free_bytes"), zone.free);
  put(metric("jetmem_zone_managed_bytes"), zone.managed);
  put(metric("jetmem_zone_present_bytes"), zone.present);
  put(metric("jetmem_zone_cma_bytes"), zone.cma);
  put(metric("jetmem_zone_free_cma_bytes"), zone.free_cma);
  for (const Watermark& mark : watermarks) {
    put(metric("jetmem_zone_watermark_bytes"), mark.pages, mark.name);
  }
  put(metric("jetmem_zone_watermark_boost_bytes"), zone.boost);

  const auto put_distances = [&](double available, std::string_view request) {
    for (const Watermark& mark : watermarks) {
      out.put(metric("jetmem_zone_watermark_distance_bytes"), available - bytes(mark.pages), node,
              name, mark.name, request);
    }
  };
  put_distances(bytes(zone.free), "movable");
  if (zone.free_cma) put_distances(bytes(zone.free) - bytes(*zone.free_cma), "unmovable");
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
  auto ok = ZoneinfoParser(text, out.zones).run();
  // What a refused text left behind must not be taken for checked zones next time.
  if (!ok) out.zones.clear();
  return ok;
}

void ZoneinfoSource::write(SampleWriter& out, WriteContext& context) const {
  const auto page_size = context.facts.page_size;
  for (const Zoneinfo::Zone& zone : reading_.zones) {
    if (!zone.is_populated()) continue;
    if (page_size) {
      write_zone(out, zone, static_cast<double>(*page_size));
    } else {
      context.absent.add("page_size_unknown", samples_of(zone));
    }
  }
}

}  // namespace jetmem
