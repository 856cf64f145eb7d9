// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/map.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using State = CmaPiece::State;

constexpr std::size_t kMaxPieces = 2 * CmaMap::kMaxAllocations + 1;
// Releases under way at a time; each lasts microseconds.
constexpr std::size_t kMaxAwaited = 256;
constexpr std::size_t kMaxOwners = 4096;
constexpr std::uint32_t kFresh = 1;  // CmaPiece::owner
// From a release's bits being cleared to its trace: some instructions, unless the CPU is taken
// away.
constexpr Nanoseconds kMostUnderWay = std::chrono::seconds(1);
// A release that is certain to be under way, and has not been traced by then, never will be.
constexpr Nanoseconds kMostAwaited = std::chrono::minutes(1);
// A thread that allocates has begun: its start is in ticks, and the clocks differ a little.
constexpr Nanoseconds kTick = std::chrono::milliseconds(20);
// What folders of debugfs are cut to, without "cma-".
constexpr std::size_t kCutName = 11;

bool is_taken(State state) { return state != State::kFree; }

auto first_behind(std::vector<CmaPiece>& pieces, std::uint64_t pfn) {
  return std::lower_bound(
      pieces.begin(), pieces.end(), pfn,
      [](const CmaPiece& piece, std::uint64_t at) { return piece.end() <= at; });
}

// Takes [begin, end) out of the pieces, and calls was(part) for what lay in it.
template <class Was>
void cut(std::vector<CmaPiece>& pieces, std::uint64_t begin, std::uint64_t end, Was was) {
  if (begin >= end) return;
  const auto first = first_behind(pieces, begin);
  auto last = first;
  std::optional<CmaPiece> head;
  std::optional<CmaPiece> tail;
  for (; last != pieces.end() && last->pfn < end; ++last) {
    CmaPiece part = *last;
    part.pfn = std::max(last->pfn, begin);
    part.pages = std::min(last->end(), end) - part.pfn;
    was(part);
    if (last->pfn < begin) {
      head = *last;
      head->pages = begin - last->pfn;
    }
    if (last->end() > end) {
      tail = *last;
      tail->pfn = end;
      tail->pages = last->end() - end;
    }
  }
  auto at = pieces.erase(first, last);
  if (tail) at = pieces.insert(at, *tail);
  if (head) pieces.insert(at, *head);
}

void count_taken(CmaMap::Area& area) {
  area.taken_pieces = static_cast<std::uint64_t>(std::count_if(
      area.pieces.begin(), area.pieces.end(), [](const CmaPiece& p) { return is_taken(p.state); }));
}

// Free pieces that touch are one, as are those of before.
void put(CmaMap::Area& area, CmaPiece piece) {
  auto at = first_behind(area.pieces, piece.pfn);
  const auto joins = [&](const CmaPiece& other) {
    return other.state == piece.state && piece.state != State::kTaken && other.owner == piece.owner;
  };
  if (at != area.pieces.begin()) {
    const auto before = std::prev(at);
    if (before->end() == piece.pfn && joins(*before)) {
      before->pages += piece.pages;
      if (at != area.pieces.end() && at->pfn == before->end() && joins(*at)) {
        before->pages += at->pages;
        area.pieces.erase(at);
      }
      return;
    }
  }
  if (at != area.pieces.end() && at->pfn == piece.end() && joins(*at)) {
    at->pfn = piece.pfn;
    at->pages += piece.pages;
    return;
  }
  area.pieces.insert(at, piece);
}

// Returns false where there is no room: then nothing is known of it.
bool set_state(CmaMap::Area& area, const CmaPiece& piece) {
  cut(area.pieces, piece.pfn, piece.end(), [](const CmaPiece&) {});
  count_taken(area);
  if (area.pieces.size() >= kMaxPieces) return false;
  if (is_taken(piece.state) && area.taken_pieces >= CmaMap::kMaxAllocations) return false;
  put(area, piece);
  count_taken(area);
  return true;
}

bool is_same_area(std::string_view folder, std::string_view name) {
  return folder == name || (folder.size() == kCutName && name.starts_with(folder));
}

bool bit(const std::vector<std::uint32_t>& words, std::uint64_t i) {
  return ((words[i / 32] >> (i % 32)) & 1U) != 0;
}

}  // namespace

std::uint64_t CmaMap::Area::known_pages() const {
  std::uint64_t sum = 0;
  for (const CmaPiece& piece : pieces) sum += piece.pages;
  return sum;
}

std::optional<std::uint64_t> CmaMap::Area::unknown_pages() const {
  if (!pages) return std::nullopt;
  return *pages - std::min(*pages, known_pages());
}

std::uint64_t cma_request_in(std::uint64_t begin, std::uint64_t end) {
  constexpr unsigned kMaxOrder = 8;  // CONFIG_CMA_ALIGNMENT, which nobody is known to change
  std::uint64_t largest = 0;
  for (unsigned order = 0; order <= kMaxOrder; ++order) {
    const std::uint64_t align = std::uint64_t{1} << order;
    const std::uint64_t first = (begin + align - 1) & ~(align - 1);
    if (first >= end) break;
    largest = std::max(largest, order < kMaxOrder ? std::min(end - first, align) : end - first);
  }
  return largest;
}

static std::uint64_t largest_in(const CmaMap::Area& area, const std::vector<bool>& without,
                                std::uint64_t (*measure)(std::uint64_t begin, std::uint64_t end)) {
  std::uint64_t largest = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  for (const CmaPiece& piece : area.pieces) {
    const bool is_left_out =
        piece.state == State::kTaken && piece.owner < without.size() && without[piece.owner];
    const bool is_free = piece.state == State::kFree || is_left_out;
    if (!is_free) continue;
    if (piece.pfn != end) begin = piece.pfn;
    end = piece.end();
    largest = std::max(largest, measure(begin, end));
  }
  return largest;
}

std::uint64_t CmaMap::Area::largest_free_run(const std::vector<bool>& without) const {
  return largest_in(*this, without,
                    [](std::uint64_t begin, std::uint64_t end) { return end - begin; });
}

std::uint64_t CmaMap::Area::largest_request() const {
  return largest_in(*this, {}, cma_request_in);
}

void CmaMapper::forget(CmaMap& map) {
  rings_.clear();
  for (CmaMap::Area& area : map.areas) {
    area.pieces.clear();
    area.taken_pieces = 0;
  }
  for (Side& side : sides_) side = Side();
  first_.reset();
  map.owners.clear();
  quiet_at_ = UINT64_MAX;
}

void CmaMapper::lose(CmaMap& map) {
  if (!std::exchange(has_lost_, true)) ++map.losses;
  ++applied_;
  for (CmaMap::Area& area : map.areas) {
    area.pieces.clear();
    area.taken_pieces = 0;
  }
  for (Side& side : sides_) side.awaited.clear();
  first_.reset();
}

CmaMapper::Ring& CmaMapper::ring_of(std::uint32_t cpu) {
  const auto at =
      std::find_if(rings_.begin(), rings_.end(), [&](const Ring& ring) { return ring.cpu == cpu; });
  return at != rings_.end() ? *at : rings_.emplace_back(Ring{cpu});
}

bool CmaMapper::take(const CmaTrace& trace, CmaMap& map) {
  if (trace.is_unclear || (trace.is_unchanged && !has_all(trace))) return false;
  has_lost_ = false;
  map.page_bytes = trace.page_bytes;
  map.now = trace.now;
  take_bounds(trace, map);
  if (!trace.is_unchanged) take_events(trace, map);
  take_tasks(trace, map);
  const bool is_quiet = std::all_of(trace.rings.begin(), trace.rings.end(),
                                    [](const CmaRing& r) { return r.before == *r.after; });
  if (is_quiet) {
    const bool was_still = quiet_at_ == applied_;
    quiet_at_ = applied_;
    for (const CmaBounds& bounds : trace.bounds) {
      if (!bounds.has_bitmap) continue;
      for (std::size_t i = 0; i < map.areas.size(); ++i) {
        if (map.areas[i].base_pfn == bounds.base_pfn) compare(bounds, i, was_still, map);
      }
    }
  }
  if (std::exchange(dropped_at_, applied_) != applied_) drop_owners(map);
  return true;
}

void CmaMapper::take_bounds(const CmaTrace& trace, CmaMap& map) {
  for (const CmaBounds& bounds : trace.bounds) {
    auto at = std::find_if(map.areas.begin(), map.areas.end(), [&](const CmaMap::Area& area) {
      return is_same_area(bounds.name, area.name);
    });
    if (at == map.areas.end()) {
      if (map.areas.size() == CmaTrace::kMaxAreas) continue;
      map.areas.emplace_back().name = bounds.name;
      at = std::prev(map.areas.end());
    }
    // What was known outside is of no area.
    if (bounds.base_pfn && (at->base_pfn != bounds.base_pfn || at->pages != bounds.pages)) {
      const std::uint64_t end = *bounds.base_pfn + *bounds.pages;
      cut(at->pieces, 0, *bounds.base_pfn, [](const CmaPiece&) {});
      cut(at->pieces, end, UINT64_MAX, [](const CmaPiece&) {});
      count_taken(*at);
    }
    at->base_pfn = bounds.base_pfn;
    at->pages = bounds.pages;
    at->order = bounds.order;
  }
  sides_.resize(map.areas.size());
}

// Whether the events of earlier readings are all of those that are counted.
bool CmaMapper::has_all(const CmaTrace& trace) {
  return std::all_of(trace.rings.begin(), trace.rings.end(), [&](const CmaRing& ring) {
    const Ring& known = ring_of(ring.cpu);
    return known.seen == ring.before.gone + ring.before.entries && known.lost == ring.before.lost;
  });
}

void CmaMapper::take_events(const CmaTrace& trace, CmaMap& map) {
  bool is_lossy = false;
  for (const CmaRing& ring : trace.rings) {
    Ring& known = ring_of(ring.cpu);
    if (ring.before.gone >= known.seen) continue;
    const std::uint64_t at = known.seen - ring.before.gone;
    if (at <= ring.shown.size() && ring.shown[at - 1] == known.last) continue;
    // It was cleared, perhaps alone: then what others released meanwhile is not known.
    known = Ring{ring.cpu};
    is_lossy = true;
  }
  const auto begin = [&](const CmaRing& ring) {
    if (ring.before.gone > ring_of(ring.cpu).seen) lose(map);
  };
  for (const CmaEvent& event : trace.events) {
    const auto ring = std::find_if(trace.rings.begin(), trace.rings.end(),
                                   [&](const CmaRing& r) { return r.cpu == event.cpu; });
    if (event.number == 1) begin(*ring);
    const std::uint64_t number = ring->before.gone + event.number;
    if (number <= ring_of(event.cpu).seen || event.kind == CmaEvent::Kind::kNone) continue;
    take_event(event, map);
  }
  for (const CmaRing& ring : trace.rings) {
    if (ring.shown.empty()) begin(ring);
    Ring& known = ring_of(ring.cpu);
    known.seen = ring.before.gone + ring.shown.size();
    if (!ring.shown.empty()) known.last = ring.shown.back();
    // What was never written may belong anywhere.
    is_lossy = is_lossy || std::exchange(known.lost, ring.before.lost) != ring.before.lost;
  }
  if (is_lossy) lose(map);
}

std::optional<std::size_t> CmaMapper::area_of(const CmaEvent& event, CmaMap& map) {
  const auto holds = [&](const CmaMap::Area& area) {
    return area.base_pfn && event.pfn >= *area.base_pfn &&
           event.pfn + event.pages <= *area.base_pfn + *area.pages;
  };
  bool is_placeless = true;
  bool is_outside = false;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < map.areas.size() && !found; ++i) {
    CmaMap::Area& area = map.areas[i];
    is_placeless = is_placeless && !area.base_pfn;
    // A name that was cut may be another area's.
    const bool is_named = event.area.empty() || is_same_area(area.name, event.area);
    if (!is_named) continue;
    const bool is_certain = event.area.empty() ? holds(area) : !area.base_pfn || holds(area);
    if (is_certain) found = i;
    is_outside = is_outside || (!is_certain && area.name == event.area);
  }
  if (is_outside && !found) return std::nullopt;
  // Without a name and a place it is the only area's, or that of all which have none.
  for (std::size_t i = 0; event.area.empty() && is_placeless && i < map.areas.size() && !found;
       ++i) {
    if (map.areas.size() == 1 || map.areas[i].name.empty()) found = i;
  }
  if (found) {
    if (!event.area.empty()) map.areas[*found].name = event.area;
    return found;
  }
  if (event.area.empty() && !is_placeless) return std::nullopt;
  if (map.areas.size() == CmaTrace::kMaxAreas) return std::nullopt;
  map.areas.emplace_back().name = event.area;
  sides_.resize(map.areas.size());
  return map.areas.size() - 1;
}

void CmaMapper::take_event(const CmaEvent& event, CmaMap& map) {
  ++applied_;
  if (!first_) first_ = event.at;
  const auto index = area_of(event, map);
  if (!index) {
    // It is of no area that is known, or of more than one.
    lose(map);
    return;
  }
  CmaMap::Area& area = map.areas[*index];
  std::vector<CmaPiece>& awaited = sides_[*index].awaited;
  std::erase_if(awaited, [&](const CmaPiece& part) {
    const auto most = part.state == State::kFree ? kMostUnderWay : kMostAwaited;
    return part.at && event.at && *event.at - *part.at > most;
  });
  // A bit of several pages is taken as a whole.
  const std::uint64_t base = area.base_pfn.value_or(0);
  const std::uint64_t mask = (1ULL << area.order) - 1;
  const std::uint64_t begin = base + ((event.pfn - base) & ~mask);
  const std::uint64_t end = base + ((event.pfn + event.pages - base + mask) & ~mask);

  if (event.kind == CmaEvent::Kind::kRelease) {
    std::vector<CmaPiece> done;
    cut(awaited, begin, end, [&](const CmaPiece& part) { done.push_back(part); });
    std::uint64_t at = begin;
    const bool is_early = !event.at || *event.at - *first_ < kMostUnderWay;
    const auto release = [&](std::uint64_t until) {
      std::vector<CmaPiece> known;
      cut(area.pieces, at, until, [&](const CmaPiece& part) { known.push_back(part); });
      const auto set_free = [&](std::uint64_t pfn, std::uint64_t pages) {
        set_state(area, {pfn, pages, State::kFree, 0, std::nullopt});
      };
      if (!is_early && at < until) set_free(at, until - at);
      for (const CmaPiece& part : known) {
        set_free(part.pfn, part.pages);
        // Whose it was when its bit was seen is not known.
        const bool is_fresh = part.state == State::kBefore && part.owner == kFresh;
        if (is_fresh) cut(area.pieces, part.pfn, part.end(), [](const CmaPiece&) {});
      }
    };
    for (const CmaPiece& part : done) {
      release(part.pfn);
      at = part.end();
      if (part.state != State::kFree) continue;
      // This one or the next.
      cut(area.pieces, part.pfn, part.end(), [](const CmaPiece&) {});
      awaited.insert(first_behind(awaited, part.pfn), part);
    }
    release(end);
    count_taken(area);
    return;
  }
  std::vector<CmaPiece> was;
  std::uint64_t unknown = begin;
  const auto await = [&](std::uint64_t pfn, std::uint64_t until, State state) {
    if (pfn < until) was.push_back({pfn, until - pfn, state, 0, event.at});
  };
  cut(area.pieces, begin, end, [&](const CmaPiece& part) {
    await(unknown, part.pfn, State::kFree);
    unknown = part.end();
    const bool is_fresh = part.state == State::kFree && part.owner == kFresh;
    // Its bit may have been set by this allocation itself, which is traced at its end.
    const bool is_perhaps = is_fresh || part.state == State::kBefore;
    if (is_perhaps || part.state == State::kTaken) {
      await(part.pfn, part.end(), is_perhaps ? State::kFree : State::kTaken);
    }
  });
  await(unknown, end, State::kFree);
  for (CmaPiece part : was) {
    // Where another is under way already, it is not known how many will come.
    cut(awaited, part.pfn, part.end(), [&](const CmaPiece&) { part.state = State::kFree; });
    if (awaited.size() >= kMaxAwaited) return lose(map);
    awaited.insert(first_behind(awaited, part.pfn), part);
  }
  const CmaPiece taken{begin, end - begin, State::kTaken, owner_of(event, map), event.at};
  if (!set_state(area, taken)) ++map.omitted;
}

std::uint32_t CmaMapper::owner_of(const CmaEvent& event, CmaMap& map) {
  const std::string function = printable(event.function, kMaxLabelBytes);
  const std::string comm = printable(event.comm, kMaxLabelBytes);
  for (std::size_t i = map.owners.size(); i-- > 0;) {
    const CmaOwner& owner = map.owners[i];
    if (owner.thread == event.thread && owner.comm == comm && owner.function == function) {
      return static_cast<std::uint32_t>(i);
    }
  }
  if (map.owners.size() >= kMaxOwners) drop_owners(map);
  CmaOwner& owner = map.owners.emplace_back();
  owner.thread = event.thread;
  owner.comm = owner.name = comm;
  owner.function = function;
  return static_cast<std::uint32_t>(map.owners.size() - 1);
}

// Owners that have nothing any more.
void CmaMapper::drop_owners(CmaMap& map) {
  std::vector<std::uint32_t> index(map.owners.size(), UINT32_MAX);
  std::vector<CmaOwner> kept;
  for (CmaMap::Area& area : map.areas) {
    for (CmaPiece& piece : area.pieces) {
      if (piece.state != State::kTaken) continue;
      std::uint32_t& to = index[piece.owner];
      if (to == UINT32_MAX) {
        to = static_cast<std::uint32_t>(kept.size());
        kept.push_back(std::move(map.owners[piece.owner]));
      }
      piece.owner = to;
    }
  }
  map.owners = std::move(kept);
}

// Whose process a thread is, while it is there, and if it is not another that has its number by
// now.
void CmaMapper::take_tasks(const CmaTrace& trace, CmaMap& map) {
  std::vector<std::optional<Nanoseconds>>& first = first_of_owner_;
  first.assign(map.owners.size(), std::nullopt);
  for (const CmaMap::Area& area : map.areas) {
    for (const CmaPiece& piece : area.pieces) {
      if (piece.state != State::kTaken || !piece.at) continue;
      auto& at = first[piece.owner];
      if (!at || *piece.at < *at) at = piece.at;
    }
  }
  for (std::size_t i = 0; i < map.owners.size(); ++i) {
    CmaOwner& owner = map.owners[i];
    const auto task = std::find_if(trace.tasks.begin(), trace.tasks.end(),
                                   [&](const CmaTask& t) { return t.thread == owner.thread; });
    if (task == trace.tasks.end() || owner.has_ended) continue;
    std::optional<Nanoseconds> start;
    if (trace.ticks.value_or(0) > 0) {
      const auto ticks = static_cast<double>(*trace.ticks);
      start = std::chrono::duration_cast<Nanoseconds>(
          std::chrono::duration<double>(static_cast<double>(task->start_ticks) / ticks));
    }
    const bool is_another = start && first[i] && *start > *first[i] + kTick;
    // The end of a thread is not that of its process.
    if (task->has_ended || is_another)
      owner.has_ended = owner.pid == 0 || owner.pid == owner.thread || task->process_has_ended;
    const bool is_certain = !task->has_ended && start && first[i] && !is_another;
    if (owner.pid != 0 || !is_certain || task->pid == 0 || task->name.empty()) continue;
    owner.pid = task->pid;
    owner.name = printable(task->name, kMaxLabelBytes);
    owner.unit = printable(task->unit, kMaxLabelBytes);
    owner.container = printable(task->container, kMaxLabelBytes);
  }
}

void CmaMapper::compare(const CmaBounds& bounds, std::size_t index, bool was_still, CmaMap& map) {
  CmaMap::Area& area = map.areas[index];
  std::vector<std::uint32_t>& last = sides_[index].bitmap;
  const bool has_last = last.size() == bounds.bitmap.size();
  const std::uint64_t step = 1ULL << area.order;
  std::vector<CmaPiece> found;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < *area.pages >> area.order; ++i) {
    const std::uint64_t pfn = *area.base_pfn + i * step;
    while (at < area.pieces.size() && area.pieces[at].end() <= pfn) ++at;
    const CmaPiece* known =
        at < area.pieces.size() && area.pieces[at].pfn <= pfn ? &area.pieces[at] : nullptr;
    const bool is_set = bit(bounds.bitmap, i);
    const bool was_same = has_last && bit(last, i) == is_set;
    const State state = is_set ? State::kBefore : State::kFree;
    const std::uint32_t fresh = was_same ? 0 : kFresh;
    // What no event said is what the bitmap says.
    const bool is_of_event =
        known != nullptr &&
        (known->state == State::kTaken || (known->state == State::kFree && known->owner != kFresh));
    if (is_of_event) {
      const bool differs = (known->state == State::kTaken) != is_set;
      if (!differs || !was_same || !was_still) continue;
      // An allocation that is under way has set its bits.
      if (!is_set) map.corrected_pages += step;
    } else if (known != nullptr && known->state == state && known->owner == fresh) {
      continue;
    }
    if (!found.empty() && found.back().end() == pfn && found.back().state == state &&
        found.back().owner == fresh) {
      found.back().pages += step;
    } else {
      found.push_back({pfn, step, state, fresh, std::nullopt});
    }
  }
  for (const CmaPiece& piece : found) set_state(area, piece);
  last = bounds.bitmap;
}

}  // namespace jetmem
