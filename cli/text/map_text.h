// SPDX-License-Identifier: Apache-2.0
// Where the module's memory went, for people.
#pragma once

#include <string>

#include "cli/text/top_text.h"
#include "report/answers/map_answer.h"

namespace jetmem {

std::string map_text(const MapAnswer& answer, const ScreenStyle& style);

}  // namespace jetmem
