// Every derivation there is.
#pragma once

#include <memory>
#include <vector>

#include "collectors/source.h"
#include "health/options.h"

namespace jetmem {

// In the order in which they are written. `options` must outlive them; what changes in it counts
// from the next round on.
std::vector<std::unique_ptr<Derivation>> make_all_derivations(
    const HealthOptions& options = kDefaultHealthOptions);

}  // namespace jetmem
