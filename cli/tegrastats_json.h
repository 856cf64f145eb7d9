// A line of tegrastats as JSON: what `jetmem decode tegrastats --json` prints, one object a line.
#pragma once

#include <nlohmann/json.hpp>

#include "collectors/tegrastats/line.h"

namespace jetmem {

// {"time", "ram", "swap", "iram", "cpu", "emc", "gr3d", "gr3d2", "engines", "mts",
// "edp_limit_mhz", "temperatures", "temperatures_max", "rails", "unknown"}. What the line does not
// have is left out; "unknown" is always there. Core of cpu: {"percent", "mhz"}, or null for off.
// EMC, GPU and engines have "quality": "unknown" where a percentage has no clock; with a clock
// there is no such member. EMC's 0% without a clock could not be read, so it is no "percent" at
// all. What did not fit into the bounds is told by "unknown_more", "unknown_cut" and
// "beyond_bound".
nlohmann::ordered_json tegrastats_json(const TegrastatsLine& line);

// On one line. Bytes that are no UTF-8 become U+FFFD; nothing in it steers a terminal.
std::string one_line(const nlohmann::ordered_json& json);

}  // namespace jetmem
