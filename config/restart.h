// SPDX-License-Identifier: Apache-2.0
// What of new settings a running daemon can take over, and what waits for its next start.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace jetmem {

// The keys that differ and that only a restart applies, in the order of the schema. Both settings
// must have been loaded with the same known sources.
std::vector<std::string> keys_that_need_restart(const Settings& running, const Settings& needed);

// `wanted`, but with the running values of those keys: what a reload puts into effect.
Settings applicable_without_restart(const Settings& running, const Settings& needed);

}  // namespace jetmem
