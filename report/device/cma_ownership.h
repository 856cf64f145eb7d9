// SPDX-License-Identifier: Apache-2.0
// Who took a contiguous area, of jetmem's own map of it (collectors/cma/map.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json/fields.h"
#include "report/device/cma_map.h"

namespace jetmem {

// By jetmem's own map of an area (source cma_map): who allocated what is taken. Whoever holds a
// buffer now may be another.
struct CmaAreaOwner {
  std::string owner;         // the program; empty: the kernel has not kept its name
  std::uint64_t pid = 0;     // 0: not known
  std::uint64_t thread = 0;  // where the process is not known
  std::string unit;
  std::string container;
  std::string function;  // of the driver
  bool has_ended = false;
  std::vector<CmaHolder> maybe_held_by;  // now, where it has ended: a guess (cma_map.h)
  double bytes = 0;
  std::uint64_t blocks = 0;
  std::optional<double> oldest_seconds;  // ago
  std::optional<double> newest_seconds;
  // The largest free run, were all that it allocated released; absent where a part is unknown.
  std::optional<double> largest_run_without_bytes;
};

struct CmaSplitter {
  std::uint64_t owner = 0;  // its index
  double bytes = 0;
  std::optional<double> age_seconds;
  double largest_run_without_bytes = 0;
};

struct CmaBlock {
  enum class State : std::uint8_t { kTaken, kBefore, kUnknown };
  double offset_bytes = 0;
  double bytes = 0;
  State state = State::kTaken;
  std::uint64_t owner = 0;  // of kTaken: its index
  std::optional<double> age_seconds;
};

struct CmaOwnership {
  using Owner = CmaAreaOwner;
  using Splitter = CmaSplitter;
  using Block = CmaBlock;
  using BlockState = CmaBlock::State;

  static constexpr std::size_t kMaxOwners = 64;
  // The most first; the last of kMaxOwners stands for all that are left, as "other".
  std::vector<Owner> owners;
  std::optional<Splitter> splitter;  // the one block without which the largest free run grows most
  std::optional<double> before_bytes;   // allocated before jetmem looked, by whom is not known
  std::optional<double> unknown_bytes;  // free or not: not known; no key: nor how much that is
  std::optional<double> map_largest_run_bytes;  // absent where a part is unknown
  std::optional<double> largest_request_bytes;  // the same, of what alignment leaves of the runs
  // The area from its beginning to its end; what lies between is free, or unknown where the area's
  // place is.
  std::vector<Block> blocks;
};

void find_owners(const CmaMap& map, const CmaMap::Area& area, double page_bytes, CmaOwnership& out);
// "camera-preview (PID 412, camera.service)"
std::string owner_name(const CmaOwnership::Owner& owner);
// "viewer (PID 512), preview (PID 700)"; empty: nobody is known
std::string holder_names(const CmaOwnership::Owner& owner);
// Its fields, within those of what has it.
void describe_ownership(json::Fields& v, CmaOwnership& area);

}  // namespace jetmem
