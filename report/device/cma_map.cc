// SPDX-License-Identifier: Apache-2.0
#include "report/device/cma_map.h"

#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "collectors/dmabuf/source.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

// Of all areas: 40 bytes each.
constexpr std::size_t kMaxBlocks = 16'384;
constexpr std::uint64_t kMaxPfn = 1ULL << 52;
constexpr std::size_t kMaxHolders = 4;  // of an owner

// As a mapper leaves it: whoever answers may be no jetmem.
bool is_plausible(const CmaMap& map, const CmaMap::Area& area) {
  std::uint64_t end = area.base_pfn.value_or(0);
  for (const CmaPiece& piece : area.pieces) {
    if (piece.pfn < end || piece.pfn > kMaxPfn || piece.pages == 0 || piece.pages > kMaxPfn) {
      return false;
    }
    if (piece.state == CmaPiece::State::kTaken && piece.owner >= map.owners.size()) return false;
    end = piece.end();
  }
  if (area.base_pfn.has_value() != area.pages.has_value()) return false;
  return !area.pages || (*area.pages <= kMaxPfn && end <= *area.base_pfn + *area.pages);
}

void find_holders(const DmabufHolders& held, std::uint64_t page, CmaMap& map) {
  using Blocks = std::map<std::uint64_t, std::uint64_t>;  // bytes of each, how many
  std::vector<Blocks> of_owner(map.owners.size());
  std::map<std::uint64_t, Blocks> of_process;
  for (const CmaMap::Area& area : map.areas) {
    for (const CmaPiece& piece : area.pieces) {
      if (piece.state != CmaPiece::State::kTaken) continue;
      const CmaOwner& owner = map.owners[piece.owner];
      ++(owner.has_ended ? of_owner[piece.owner] : of_process[owner.pid])[piece.pages * page];
    }
  }
  for (std::size_t i = 0; i < map.owners.size(); ++i) {
    std::vector<std::pair<std::uint64_t, CmaHolder>> found;  // bytes
    for (const DmabufOfSize& each : held.sizes) {
      const std::uint64_t size = (each.bytes + page - 1) / page * page;
      const auto blocks = of_owner[i].find(size);
      if (blocks == of_owner[i].end()) continue;
      // What it allocated itself are its own.
      const std::uint64_t own = of_process[each.pid][size];
      if (each.buffers <= own) continue;
      auto at = std::find_if(found.begin(), found.end(),
                             [&](const auto& other) { return other.second.pid == each.pid; });
      if (at == found.end())
        at = found.insert(at, {0, {each.pid, printable(each.name, kMaxLabelBytes)}});
      at->first += std::min(each.buffers - own, blocks->second) * size;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (found.size() > kMaxHolders) found.resize(kMaxHolders);
    for (auto& [bytes, holder] : found) map.owners[i].maybe_held_by.push_back(std::move(holder));
  }
}

}  // namespace

std::optional<CmaMap> cma_map_of(const Readings& readings) {
  const auto* map = readings.get<CmaMap>();
  if (map == nullptr) return std::nullopt;
  CmaMap out = *map;
  const auto* dmabuf = readings.get<Dmabuf>();
  if (dmabuf != nullptr && out.page_bytes) find_holders(dmabuf->held, *out.page_bytes, out);
  return out;
}

void describe(json::Fields& v, CmaHolder& holder) {
  v("pid", holder.pid);
  v("name", holder.name);
}

static void describe(json::Fields& v, CmaOwner& owner) {
  std::uint64_t thread = owner.thread;
  std::uint64_t pid = owner.pid;
  v("thread", thread);
  v.unless_empty("comm", owner.comm);
  v.unless_empty("name", owner.name);
  v("pid", pid);
  v.unless_empty("unit", owner.unit);
  v.unless_empty("container", owner.container);
  v.unless_empty("function", owner.function);
  v.unless_false("ended", owner.has_ended);
  v.unless_empty("maybe_held_by", owner.maybe_held_by);
  owner.thread = static_cast<std::uint32_t>(std::min<std::uint64_t>(thread, UINT32_MAX));
  owner.pid = static_cast<std::uint32_t>(std::min<std::uint64_t>(pid, UINT32_MAX));
}

static void describe(json::Fields& v, CmaPiece& piece) {
  // -1: the kernel's trace has no time of this clock.
  double at = piece.at ? to_seconds(*piece.at) : -1;
  auto state = static_cast<std::uint64_t>(piece.state);
  std::uint64_t owner = piece.owner;
  v.row({&piece.pfn, &piece.pages, &state, &owner, &at});
  if (!v.reading()) return;
  if (state > 2) return v.skip();
  piece.state = static_cast<CmaPiece::State>(state);
  piece.owner = static_cast<std::uint32_t>(std::min<std::uint64_t>(owner, UINT32_MAX));
  constexpr double kLongest = 1e9;
  if (at >= 0 && at < kLongest) {
    piece.at = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(at));
  }
}

void describe(json::Fields& v, CmaMap& map) {
  v("page_bytes", map.page_bytes);
  v("now", map.now);
  v("owners", map.owners);
  std::size_t room = kMaxBlocks;
  v.list("areas", map.areas, [&](json::Fields& each, CmaMap::Area& area) {
    each("area", area.name);
    each("base_pfn", area.base_pfn);
    each("pages", area.pages);
    std::vector<CmaPiece> none;
    const bool fits = area.pieces.size() <= room;
    std::vector<CmaPiece>& pieces = v.reading() || fits ? area.pieces : none;
    each.list("blocks", pieces, [](json::Fields& row, CmaPiece& piece) { describe(row, piece); });
    room -= std::min(room, area.pieces.size());
    if (!v.reading()) return;
    area.name = printable(area.name, kMaxLabelBytes);
    if (!is_plausible(map, area)) area.pieces.clear();
  });
  v("losses", map.losses);
  v("omitted", map.omitted);
  v("corrected_pages", map.corrected_pages);
  if (!v.reading()) return;
  if (map.page_bytes && (*map.page_bytes < 1024 || *map.page_bytes > (1U << 20))) {
    map.page_bytes.reset();
  }
}

}  // namespace jetmem
