// Contiguous memory for a terminal.
#pragma once

#include <string>

#include "cli/screen.h"
#include "report/answers/cma_answer.h"

namespace jetmem {

std::string cma_text(const CmaAnswer& answer, const ScreenLook& look);

}  // namespace jetmem
