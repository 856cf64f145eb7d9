// A device's state for a terminal: one screen, or one line.
#pragma once

#include <string>

#include "cli/screen.h"
#include "report/answers/status_answer.h"

namespace jetmem {

std::string status_text(const StatusAnswer& answer, const ScreenLook& look);

// "WARNING orin-nano: mem 79% used 1.5GiB avail, cma 60% largest 36MiB, 2 alerts, 72C: why", with a
// newline. What is not known is "?".
std::string status_brief(const StatusAnswer& answer, const std::string& host);

// 0 ok, 1 warning, 2 critical, 3 unknown.
int status_exit(StatusLevel level);

// "OK", "WARNING", ...
std::string level_word(StatusLevel level);

// The parts of a page that others show too.
std::string heat_map_text(const FragmentationAnswer& answer, const ScreenLook& look,
                          std::size_t max_zones);
std::string cma_area_line(const CmaAnswer::Area& area, const ScreenLook& look);

}  // namespace jetmem
