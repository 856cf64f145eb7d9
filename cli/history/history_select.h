// SPDX-License-Identifier: Apache-2.0
// Which series of the history a person means: a metric's name, with or without labels.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct SeriesPattern {
  std::string family;
  std::vector<std::pair<std::string, std::string>> labels;  // these, whatever others there are
};

// NAME or NAME{label="value",...}; quotes, which a shell eats, and the prefix jetmem_ may be left
// out. Errors (kInvalid): what is none, and where in it.
Result<SeriesPattern> parse_series_pattern(std::string_view text);

// The series that match, by name. Errors: there is no such metric (kInvalid, with the names that
// are near), nothing is recorded of it here or with these labels (kAbsent, with what is), the
// history cannot be asked.
Result<std::vector<SeriesKnown>> pick_series(History& history, const SeriesPattern& wish);

// The past of a series at the finest that there is of each time: raw where raw is kept, minutes
// before, quarters before that.
Result<SeriesPast> finest_past(History& history, const std::string& key, Nanoseconds from,
                               Nanoseconds to, Nanoseconds raw_step);

// Moments of the past on a command line: what cli/draw/since.h takes, and "-6h" for "6h ago".

// Since 1970. What lies in the future is refused.
Result<Nanoseconds> parse_moment(std::string_view text, Nanoseconds now);

// Whether it has the form of a moment, valid or not, and so is not a path.
bool is_moment_syntax(std::string_view text);

// Its id; between two boots that of the earlier one. Empty if two boots overlap because the clock
// was set back.
std::string boot_at(const std::vector<BootKnown>& boots, Nanoseconds wall);

}  // namespace jetmem
