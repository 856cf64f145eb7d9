// SPDX-License-Identifier: Apache-2.0
// How contiguous free memory is, for a terminal.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "report/answers/fragmentation_answer.h"

namespace jetmem {

std::string fragmentation_text(const FragmentationAnswer& answer, const ScreenStyle& style);

}  // namespace jetmem
