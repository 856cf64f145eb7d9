// Which boot of the device a moment of the past lies in.
#pragma once

#include <string>
#include <vector>

#include "history/history.h"

namespace jetmem {

// Its id. The one that was on then; between two the last value is of the one that ended last. Empty
// where two were, as the clock was set back: nobody knows of which a value is.
std::string boot_at(const std::vector<BootKnown>& boots, Nanoseconds wall);

}  // namespace jetmem
