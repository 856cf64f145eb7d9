// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/memory_map.h"

#include <charconv>

#include "base/text/text.h"
#include "collectors/proc/zone.h"
#include "collectors/proc/zoneinfo.h"

namespace jetmem::device {
namespace {

std::optional<std::uint64_t> take_hex(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Both ends belong to what the kernel prints. One that ends at 2^64 - 1 is no memory.
std::optional<Range> closed_range(std::uint64_t first, std::uint64_t last) {
  if (last < first || last == UINT64_MAX) return std::nullopt;
  return Range{first, last + 1};
}

struct Line {
  std::size_t indent = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string_view name;
};

std::optional<Line> line_of_iomem(std::string_view text) {
  Line line;
  const std::size_t blanks = text.find_first_not_of(' ');
  if (blanks == std::string_view::npos) return std::nullopt;
  line.indent = blanks;
  text.remove_prefix(blanks);
  const auto first = take_hex(text);
  if (!first || !take_prefix(text, "-")) return std::nullopt;
  const auto last = take_hex(text);
  if (!last || *last < *first || !take_prefix(text, " : ")) return std::nullopt;
  line.first = *first;
  line.last = *last;
  line.name = text;
  return line;
}

}  // namespace

MapState parse_iomem(std::string_view text, MemoryMap& out) {
  out = {};
  if (!ends_complete(text)) return MapState::kMalformed;
  out.knows_firmware = true;
  bool any = false;
  bool any_address = false;
  bool fits = true;
  Lines lines(text);
  std::string_view raw;
  while (lines.next(raw)) {
    const auto line = line_of_iomem(raw);
    if (!line) {
      ++out.malformed;
      continue;
    }
    any = true;
    any_address = any_address || line->last != 0;
    const auto range = closed_range(line->first, line->last);
    if (!range) continue;
    // Memory that was plugged in stands below its device: "System RAM (kmem)".
    if (line->name.substr(0, 10) == "System RAM") {
      fits = out.memory.add(*range) && fits;
    } else if (line->indent == 0 && line->name == "reserved") {
      fits = out.firmware.add(*range) && fits;
    }
  }
  if (any && !any_address) return MapState::kHidden;
  if (out.memory.empty()) return MapState::kMalformed;
  return fits ? MapState::kKnown : MapState::kTooMany;
}

MapState parse_memblock(std::string_view text, MemoryMap& out) {
  out = {};
  if (!ends_complete(text)) return MapState::kMalformed;
  bool fits = true;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const auto index = take_u64(line);
    std::optional<Range> range;
    if (index && take_prefix(line, ": 0x")) {
      const auto first = take_hex(line);
      if (first && take_prefix(line, "..0x")) {
        const auto last = take_hex(line);
        if (last) range = closed_range(*first, *last);
      }
    }
    if (!range || (!line.empty() && line[0] != ' ')) {
      ++out.malformed;
      continue;
    }
    take_word(line);  // the node
    const std::string_view flags = take_word(line);
    out.knows_firmware = out.knows_firmware || !flags.empty();
    const bool is_firmware = flags.find("NOMAP") != std::string_view::npos;
    fits = (is_firmware ? out.firmware : out.memory).add(*range) && fits;
  }
  if (out.memory.empty()) return MapState::kMalformed;
  return fits ? MapState::kKnown : MapState::kTooMany;
}

MapState parse_zone_pages(std::string_view text, ZonePages& out) {
  out = {};
  out.managed = 0;
  Zoneinfo zoneinfo;
  if (!parse_zoneinfo(text, zoneinfo) || !zoneinfo.whole) return MapState::kMalformed;
  for (const Zoneinfo::Zone& zone : zoneinfo.zones) {
    if (zone.present && *zone.present == 0) continue;
    if (!zone.present || !zone.spanned || !zone.start) return MapState::kMalformed;
    if (out.present == 0 || *zone.start < out.lowest) out.lowest = *zone.start;
    out.end = std::max(out.end, *zone.start + *zone.spanned);
    out.present += *zone.present;
    out.managed =
        out.managed && zone.managed ? std::optional(*out.managed + *zone.managed) : std::nullopt;
    if (out.present > kMaxPages) return MapState::kMalformed;
  }
  return out.present == 0 ? MapState::kMalformed : MapState::kKnown;
}

}  // namespace jetmem::device
