// SPDX-License-Identifier: Apache-2.0
// Versions with a known defect that shows as trouble with memory. Only what several reports or the
// vendor say, each with where: a false entry sends people to update for nothing.
#pragma once

#include <span>
#include <string_view>

namespace jetmem::doctor {

struct KnownBad {
  // Exactly this release of L4T ("36.4.7"): what later ones fixed is not guessed from ranges.
  std::string_view l4t;
  std::string_view what;
  std::string_view remedy;
};

std::span<const KnownBad> known_bad();
// Null where nothing is known against it, which is no praise.
const KnownBad* known_bad_l4t(std::string_view l4t);

}  // namespace jetmem::doctor
