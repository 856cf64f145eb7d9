// SPDX-License-Identifier: Apache-2.0
// The map of the contiguous memory areas (collectors/cma/map.h) as a part of what is known of a
// device now.
#pragma once

#include <optional>

#include "collectors/cma/map.h"
#include "collectors/source.h"
#include "report/json/fields.h"

namespace jetmem {

// Absent: there is none, or none that is fresh.
std::optional<CmaMap> cma_map_now(const Readings& readings);

// An area whose blocks have no room in the answer is one of which nothing is known.
void describe(json::Fields& v, CmaMap& map);

}  // namespace jetmem
