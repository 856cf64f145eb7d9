// SPDX-License-Identifier: Apache-2.0
// The map of the contiguous memory areas (collectors/cma/map.h) as a part of what is known of a
// device now.
#pragma once

#include "collectors/cma/map.h"
#include "report/json/fields.h"

namespace jetmem {

// An area whose blocks have no room in the answer is one of which nothing is known.
void describe(json::Fields& v, CmaMap& map);

}  // namespace jetmem
