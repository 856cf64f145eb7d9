// How contiguous free memory is, for a terminal.
#pragma once

#include <string>

#include "cli/screen.h"
#include "report/answers/fragmentation_answer.h"

namespace jetmem {

std::string fragmentation_text(const FragmentationAnswer& answer, const ScreenLook& look);

}  // namespace jetmem
