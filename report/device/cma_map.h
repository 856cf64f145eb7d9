// SPDX-License-Identifier: Apache-2.0
// The map of the contiguous memory areas (collectors/cma/map.h) as a part of what is known of a
// device now.
#pragma once

#include <optional>

#include "base/json/fields.h"
#include "collectors/cma/map.h"
#include "collectors/source.h"

namespace jetmem {

// What the sources read: the map, and who may hold now what a process allocated that has ended. The
// kernel does not say which DMA-BUF is which block: sizes that agree are a guess.
std::optional<CmaMap> cma_map_of(const Readings& readings);

// An area whose blocks have no room in the answer is one of which nothing is known.
void describe(json::Fields& v, CmaMap& map);
void describe(json::Fields& v, CmaHolder& holder);

}  // namespace jetmem
