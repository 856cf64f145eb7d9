// SPDX-License-Identifier: Apache-2.0
// A device's state for a terminal: one screen, or one line.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "report/status/status_answer.h"

namespace jetmem {

std::string status_text(const StatusAnswer& answer, const ScreenStyle& style);

// "WARNING orin-nano: mem 79% used 1.5GiB avail, cma 60% largest 36MiB, 2 alerts, 72C: why", with a
// newline. What is not known is "?".
std::string status_brief(const StatusAnswer& answer, const std::string& host);

// 0 ok, 1 warning, 2 critical, 3 unknown.
int status_exit(StatusLevel level);

// "OK", "WARNING", ...
std::string level_word(StatusLevel level);

// The parts of a page that others show too.
std::string heat_map_text(const FragmentationAnswer& answer, const ScreenStyle& style,
                          std::size_t max_zones);
std::string cma_area_line(const CmaAnswer::Area& area, const ScreenStyle& style);

}  // namespace jetmem
