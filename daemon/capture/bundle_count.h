// SPDX-License-Identifier: Apache-2.0
// Counts the bundles in a folder and their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace jetmem {

struct BundlesSeen {
  std::uint64_t bundles = 0;
  std::uint64_t bytes = 0;  // what killed captures left behind included
  // Number of a bundle, or of what is left of one (base/root/bundle_name.h).
  std::uint64_t highest = 0;
  // When each bundle was written, since 1970.
  std::vector<Nanoseconds> written;
};

// Waits for the folder's disk: have a DiskQuestion ask. A missing folder holds none; nothing: it
// cannot be read. First it removes what a killed capture left of the bundle `remove_parts_of`, if
// one is named.
std::optional<BundlesSeen> look_at_bundles(const std::string& folder,
                                           const std::string& remove_parts_of = {});

}  // namespace jetmem
