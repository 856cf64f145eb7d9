// A moment of the wall clock, as programs read it.
#pragma once

#include <string>

#include "base/clock.h"

namespace jetmem {

// "2026-11-20T02:11:47.123Z".
std::string utc_time(Nanoseconds wall);

}  // namespace jetmem
