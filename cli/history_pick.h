// Which series of the history a person means: a metric's name, with or without labels.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct SeriesWish {
  std::string family;
  std::vector<std::pair<std::string, std::string>> labels;  // these, whatever others there are
};

// NAME or NAME{label="value",...}; quotes, which a shell eats, and the prefix jetmem_ may be left
// out. Errors (kInvalid): what is none, and where in it.
Result<SeriesWish> parse_series_wish(std::string_view text);

// The series that match, by name. Errors: none does (kInvalid, with the names that are near), the
// history cannot be asked.
Result<std::vector<SeriesKnown>> pick_series(History& history, const SeriesWish& wish);

}  // namespace jetmem
