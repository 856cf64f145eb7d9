// Recorded points as CSV (RFC 4180): one line a point, with its series.
#pragma once

#include <string>

#include "history/history.h"

namespace jetmem {

std::string csv_header();
std::string csv_lines(const SeriesPast& past);

}  // namespace jetmem
