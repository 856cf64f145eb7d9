// SPDX-License-Identifier: Apache-2.0
#include "report/device/cma_ownership.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

using Area = CmaOwnership;
using State = CmaPiece::State;

// What one program allocated from one driver or several.
bool is_same(const Area::Owner& a, const CmaOwner& b) {
  return a.pid == b.pid && a.owner == b.name && a.unit == b.unit && a.container == b.container;
}

class AreaOwners {
 public:
  AreaOwners(const CmaMap& map, const CmaMap::Area& from, double page, Area& out)
      : map_(map), from_(from), page_(page), out_(out) {}

  void fill() {
    for (const CmaPiece& piece : from_.pieces) {
      if (piece.state == State::kTaken) add(piece);
      if (piece.state == State::kBefore) before_ += piece.pages;
    }
    sort();
    draw();
    out_.before_bytes = bytes(before_);
    const auto unknown = from_.unknown_pages();
    if (unknown) out_.unknown_bytes = bytes(*unknown);
    if (unknown != 0U) return;
    out_.map_largest_run_bytes = bytes(from_.largest_free_run());
    out_.largest_request_bytes = bytes(from_.largest_request());
    for (std::size_t i = 0; i < out_.owners.size(); ++i) {
      std::vector<bool> without(map_.owners.size());
      for (std::size_t o = 0; o < index_.size(); ++o) without[o] = index_[o] == i;
      out_.owners[i].largest_run_without_bytes = bytes(from_.largest_free_run(without));
    }
    find_splitter();
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  double bytes(std::uint64_t pages) const { return static_cast<double>(pages) * page_; }
  std::optional<double> age(const CmaPiece& piece) const {
    if (!piece.at || !map_.now) return std::nullopt;
    return std::max(0.0, to_seconds(*map_.now - *piece.at));
  }

  void add(const CmaPiece& piece) {
    std::size_t& at = index_[piece.owner];
    const CmaOwner& who = map_.owners[piece.owner];
    for (std::size_t i = 0; at == kNone && i < out_.owners.size(); ++i) {
      // Threads whose process is not known are not one for having the same name.
      if (who.pid != 0 && is_same(out_.owners[i], who)) at = i;
    }
    if (at == kNone) {
      at = out_.owners.size();
      Area::Owner& fresh = out_.owners.emplace_back();
      fresh.owner = printable(who.name, 64);
      fresh.pid = who.pid;
      if (who.pid == 0) fresh.thread = who.thread;
      fresh.unit = printable(who.unit, 64);
      fresh.container = printable(who.container, 64);
      fresh.has_ended = who.has_ended;
    }
    Area::Owner& owner = out_.owners[at];
    const std::string function = printable(who.function, 64);
    if (!function.empty() && !contains(owner.function, function)) {
      owner.function += (owner.function.empty() ? "" : ", ") + function;
    }
    for (const CmaHolder& holder : who.maybe_held_by) {
      auto& all = owner.maybe_held_by;
      if (std::find(all.begin(), all.end(), holder) == all.end()) all.push_back(holder);
    }
    owner.bytes += bytes(piece.pages);
    ++owner.blocks;
    if (const auto seconds = age(piece)) {
      owner.oldest_seconds = std::max(owner.oldest_seconds.value_or(0), *seconds);
      owner.newest_seconds = std::min(owner.newest_seconds.value_or(1e18), *seconds);
    }
  }

  void sort() {
    std::vector<std::size_t> order(out_.owners.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return out_.owners[a].bytes > out_.owners[b].bytes;
    });
    std::vector<Area::Owner> sorted;
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(out_.owners[order[i]]));
    }
    for (std::size_t i = Area::kMaxOwners; i < sorted.size(); ++i) {
      Area::Owner& other = sorted[Area::kMaxOwners - 1];
      const Area::Owner& one = sorted[i];
      const Area::Owner last = std::exchange(other, Area::Owner());
      other.owner = "other";
      other.bytes = last.bytes + one.bytes;
      other.blocks = last.blocks + one.blocks;
      other.oldest_seconds = std::max(last.oldest_seconds, one.oldest_seconds);
    }
    if (sorted.size() > Area::kMaxOwners) sorted.resize(Area::kMaxOwners);
    for (std::size_t& each : place) each = std::min(each, Area::kMaxOwners - 1);
    out_.owners = std::move(sorted);
    for (std::size_t& at : index_) {
      if (at != kNone) at = place[at];
    }
  }

  void draw() {
    const std::uint64_t base =
        from_.base_pfn.value_or(from_.pieces.empty() ? 0 : from_.pieces.front().pfn);
    std::uint64_t end = base;
    const auto gap = [&](std::uint64_t until) {
      if (end < until) put(end - base, until - end, Area::BlockState::kUnknown);
    };
    for (const CmaPiece& piece : from_.pieces) {
      gap(piece.pfn);
      end = piece.end();
      if (piece.state == State::kFree) continue;
      const bool is_taken = piece.state == State::kTaken;
      put(piece.pfn - base, piece.pages,
          is_taken ? Area::BlockState::kTaken : Area::BlockState::kBefore);
      if (!is_taken) continue;
      out_.blocks.back().owner = index_[piece.owner];
      out_.blocks.back().age_seconds = age(piece);
    }
    if (from_.base_pfn) gap(base + *from_.pages);
  }
  void put(std::uint64_t at, std::uint64_t pages, Area::BlockState state) {
    out_.blocks.push_back({bytes(at), bytes(pages), state, 0, std::nullopt});
  }

  void find_splitter() {
    std::uint64_t largest = from_.largest_free_run();
    const auto& pieces = from_.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].state != State::kTaken) continue;
      std::uint64_t run = pieces[i].pages;
      if (i > 0 && pieces[i - 1].state == State::kFree) run += pieces[i - 1].pages;
      if (i + 1 < pieces.size() && pieces[i + 1].state == State::kFree) run += pieces[i + 1].pages;
      if (run <= largest) continue;
      largest = run;
      out_.splitter = Area::Splitter{index_[pieces[i].owner], bytes(pieces[i].pages),
                                     age(pieces[i]), bytes(run)};
    }
  }

  const CmaMap& map_;
  const CmaMap::Area& from_;
  double page_;
  Area& out_;
  std::uint64_t before_ = 0;
  std::vector<std::size_t> index_ = std::vector<std::size_t>(map_.owners.size(), kNone);
};

}  // namespace

void find_owners(const CmaMap& map, const CmaMap::Area& area, double page_bytes,
                 CmaOwnership& out) {
  AreaOwners(map, area, page_bytes, out).fill();
}

std::string owner_name(const CmaOwnership::Owner& owner) {
  std::string in;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) in += (in.empty() ? "" : ", ") + text;
  };
  if (owner.pid != 0) add("PID " + std::to_string(owner.pid));
  if (owner.thread != 0) add("thread " + std::to_string(owner.thread));
  add(owner.unit);
  if (!owner.container.empty()) add("container " + owner.container);
  if (owner.has_ended) add("ended");
  const std::string name = owner.owner.empty() ? "an unnamed thread" : owner.owner;
  return in.empty() ? name : name + " (" + in + ")";
}

std::string holder_names(const CmaOwnership::Owner& owner) {
  std::string out;
  for (const CmaHolder& holder : owner.maybe_held_by) {
    out += (out.empty() ? "" : ", ") + holder.name + " (PID " + std::to_string(holder.pid) + ")";
  }
  return out;
}

static void describe(json::Fields& v, CmaOwnership::Owner& owner) {
  v("owner", owner.owner);
  v.unless_empty("pid", owner.pid);
  v.unless_empty("thread", owner.thread);
  v.unless_empty("unit", owner.unit);
  v.unless_empty("container", owner.container);
  v.unless_empty("function", owner.function);
  v.unless_false("ended", owner.has_ended);
  v.unless_empty("maybe_held_by", owner.maybe_held_by);
  v("bytes", owner.bytes);
  v("blocks", owner.blocks);
  v("oldest_seconds", owner.oldest_seconds);
  v("newest_seconds", owner.newest_seconds);
  v("largest_run_without_bytes", owner.largest_run_without_bytes);
}

static void describe(json::Fields& v, CmaOwnership::Splitter& splitter) {
  v("owner", splitter.owner);
  v("bytes", splitter.bytes);
  v("age_seconds", splitter.age_seconds);
  v("largest_run_without_bytes", splitter.largest_run_without_bytes);
}

// [offset, bytes, state, owner, age]: 0 taken, 1 taken before jetmem looked, 2 unknown; -1 where no
// owner or age is known.
static void describe(json::Fields& v, CmaOwnership::Block& block) {
  auto state = static_cast<std::int64_t>(block.state);
  std::int64_t owner =
      block.state == CmaBlock::State::kTaken ? static_cast<std::int64_t>(block.owner) : -1;
  double age = block.age_seconds.value_or(-1);
  v.row({&block.offset_bytes, &block.bytes, &state, &owner, &age});
}

void describe_ownership(json::Fields& v, CmaOwnership& area) {
  v.unless_empty("owners", area.owners);
  v("splitter", area.splitter);
  v("before_bytes", area.before_bytes);
  v("unknown_bytes", area.unknown_bytes);
  v("map_largest_run_bytes", area.map_largest_run_bytes);
  v.unless_empty("blocks", area.blocks);
}

}  // namespace jetmem
