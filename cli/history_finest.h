// The past of a series at the finest that there is of each time: raw where raw is kept, minutes
// before, quarters before that.
#pragma once

#include <string>

#include "base/result.h"
#include "history/history.h"

namespace jetmem {

Result<SeriesPast> finest_past(History& history, const std::string& key, Nanoseconds from,
                               Nanoseconds to, Nanoseconds raw_step);

}  // namespace jetmem
