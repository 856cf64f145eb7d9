// Moments of the past on a command line: what cli/since.h takes, and "-6h" for "6h ago".
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem {

// Since 1970. What lies in the future is refused.
Result<Nanoseconds> parse_moment(std::string_view text, Nanoseconds now);

// Whether it was meant as one, right or wrong: it is no path.
bool looks_like_moment(std::string_view text);

}  // namespace jetmem
