// SPDX-License-Identifier: Apache-2.0
// A moment of the wall clock, as programs read it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace jetmem {

// "2026-11-20T02:11:47.123Z".
std::string utc_time(Nanoseconds wall);
// The moment so many seconds after 1970; nothing where Nanoseconds do not reach it.
std::optional<Nanoseconds> wall_of(double seconds);

}  // namespace jetmem
