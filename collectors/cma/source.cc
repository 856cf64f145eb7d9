// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/source.h"

#include <algorithm>
#include <array>

#include "collectors/cma/gather.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 2> kCmaMapPaths{
    "/proc/uptime", "/sys/kernel/tracing/instances/jetmem/trace_clock"};

constexpr std::uint16_t kAreas = CmaTrace::kMaxAreas;
// 16 areas of which each is shared by as many names as are shown.
constexpr std::uint16_t kOwners = 16 * (ShownGroups::kMost + 2);

constexpr std::array kCmaMapMetrics{
    gauge("jetmem_cma_owner_bytes",
          "Memory of the contiguous area by the program that allocated it. Programs pass buffers "
          "on: the one that holds a buffer now may be another. \"before jetmem\": allocated "
          "before jetmem looked, or being allocated: by whom is unknown.",
          {"area", "owner"}, kOwners),
    gauge("jetmem_cma_map_allocations",
          "Allocations in the contiguous area that jetmem knows one by one.", {"area"}, kAreas),
    gauge(
        "jetmem_cma_map_unknown_bytes",
        "Part of the contiguous area of which jetmem does not know whether it is free: it was not "
        "allocated or released since jetmem looks, or events were lost. Absent where the area's "
        "place is unknown (debugfs without cma/*/base_pfn).",
        {"area"}, kAreas),
    gauge("jetmem_cma_map_largest_free_run_bytes",
          "The largest contiguous free part of the area by jetmem's own map. Where the kernel says "
          "it too (jetmem_cma_largest_free_run_bytes) both are equal. Absent while a part of the "
          "area is unknown.",
          {"area"}, kAreas),
    counter("jetmem_cma_map_losses_total",
            "Times that jetmem lost track of the areas: the kernel's trace overwrote events before "
            "they were read, or it was cleared. What was allocated before is then unknown."),
    counter("jetmem_cma_map_corrected_pages_total",
            "Pages that were free in the kernel's own bitmap of the area but allocated in jetmem's "
            "map. Above 0 the map missed a release: please report it."),
    counter("jetmem_cma_map_omitted_total",
            "Allocations that the map has no room for, beyond 4096 in an area: those pages are "
            "unknown."),
};
constexpr MetricTable map_metric{kCmaMapMetrics};

}  // namespace

const SourceInfo CmaMapSource::kInfo{
    .name = "cma_map",
    .what = "who allocated contiguous memory (CMA), block by block and since when",
    .paths = kCmaMapPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root: tracefs is root's",
    .metrics = kCmaMapMetrics,
    .limits = kCmaMapLimits,
    .gather = gather_cma_map,
};

Result<void> CmaMapSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  const auto parsed = parse_cma_trace(snapshot, trace_);
  if (!parsed) {
    // Where there is no instance any more, the next one counts from 0.
    if (parsed.error().code == Errc::kAbsent) mapper_.forget(reading_);
    return parsed;
  }
  if (!trace_.is_unchanged) was_unclear_ = trace_.is_unclear;
  if (mapper_.take(trace_, reading_)) return {};
  return fail(Errc::kMalformed,
              !was_unclear_
                  ? "an answer with the text of the trace was lost; the text is due again soon"
                  : "the trace was overwritten while it was read, or has lines that are no events");
}

void CmaMapSource::write(SampleWriter& out, WriteContext& context) const {
  const CmaMap& map = reading_;
  out.put(map_metric("jetmem_cma_map_losses_total"), map.losses);
  out.put(map_metric("jetmem_cma_map_corrected_pages_total"), map.corrected_pages);
  out.put(map_metric("jetmem_cma_map_omitted_total"), map.omitted);

  // By name, over all areas, with the pages of each in each area.
  const std::size_t areas = map.areas.size();
  name_of_owner_.resize(map.owners.size());
  std::size_t before = 0;
  {
    Refill<Processes::Group> names(names_);
    const auto index_of = [&](std::string_view name) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names_[i].key.command == name) return i;
      }
      names.add().key.command = name;
      return names.size() - 1;
    };
    before = index_of(kBefore);
    for (std::size_t i = 0; i < map.owners.size(); ++i) {
      const std::string& name = map.owners[i].name;
      name_of_owner_[i] = index_of(name.empty() ? kUnnamed : std::string_view(name));
    }
  }
  pages_.assign(names_.size() * areas, 0);
  sums_.assign(names_.size(), 0);
  for (std::size_t a = 0; a < areas; ++a) {
    for (const CmaPiece& piece : map.areas[a].pieces) {
      if (piece.state == CmaPiece::State::kFree) continue;
      const std::size_t name =
          piece.state == CmaPiece::State::kBefore ? before : name_of_owner_[piece.owner];
      pages_[name * areas + a] += piece.pages;
      sums_[name] += piece.pages;
    }
  }
  shown_.update(names_, sums_, context.awake, context.now);

  const auto page = context.facts.page_size;
  if (!page) {
    context.absent.add("page_size_unknown", areas);
    return;
  }
  const auto bytes = [&](std::uint64_t pages) {
    return static_cast<double>(pages) * static_cast<double>(*page);
  };
  for (std::size_t a = 0; a < areas; ++a) {
    const CmaMap::Area& area = map.areas[a];
    const std::string_view name = area.name.empty() ? kUnnamed : std::string_view(area.name);
    std::uint64_t other = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) other += pages_[i * areas + a];
    for (const ShownGroups::Shown& one : shown_.all()) {
      if (!one.shown) continue;
      const std::uint64_t pages = pages_[one.group * areas + a];
      other -= pages;
      if (pages > 0)
        out.put(map_metric("jetmem_cma_owner_bytes"), bytes(pages), name, one.key.command);
    }
    if (other > 0) {
      out.put(map_metric("jetmem_cma_owner_bytes"), bytes(other), name, ShownGroups::kOther);
    }
    out.put(map_metric("jetmem_cma_map_allocations"), area.taken_pieces, name);
    if (const auto unknown = area.unknown_pages()) {
      out.put(map_metric("jetmem_cma_map_unknown_bytes"), bytes(*unknown), name);
      if (*unknown == 0) {
        out.put(map_metric("jetmem_cma_map_largest_free_run_bytes"), bytes(area.largest_free_run()),
                name);
      }
    }
  }
}

}  // namespace jetmem
