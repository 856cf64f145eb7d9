// SPDX-License-Identifier: Apache-2.0
// A device's state for a terminal: all of it, or one line. The first screen is status_screen.h.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "cli/text/status_screen.h"
#include "report/status/status_answer.h"

namespace jetmem {

// All that is known, of whatever length.
std::string status_text(const StatusAnswer& answer, const ScreenStyle& style,
                        const CommandFor& command_for = std::identity());

// "WARNING orin-nano: mem 79% used 1.5 GiB avail, cma 60% largest 36 MiB, 2 alerts, 72 C: why",
// with a newline. What is not known is "?".
std::string status_brief(const StatusAnswer& answer, const std::string& host);

// A part of the page that others show too.
std::string heat_map_text(const FragmentationAnswer& answer, const ScreenStyle& style,
                          std::size_t max_zones);

}  // namespace jetmem
