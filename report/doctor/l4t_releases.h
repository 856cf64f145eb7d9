// SPDX-License-Identifier: Apache-2.0
// What is known of single releases of L4T. Only what several reports, the vendor or the driver's
// source state: a false entry sends people to update for nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace jetmem::doctor {

// Exactly this release: what later ones fixed is not guessed from ranges.
struct KnownBad {
  std::string_view l4t;
  std::string_view what;
  std::string_view remedy;
};
// Null where nothing is known against it, which is no praise.
const KnownBad* known_bad_l4t(std::string_view l4t);

// What nvmap does with a request for more than is free.
enum class NvmapLimit : std::uint8_t {
  kRefuses,  // although reclaiming memory could meet it
  kGrants,   // up to all RAM; where it is not there, the OOM killer ends processes
  kUnknown,
};
NvmapLimit nvmap_limit(std::string_view l4t);

}  // namespace jetmem::doctor
