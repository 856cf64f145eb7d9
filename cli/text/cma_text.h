// SPDX-License-Identifier: Apache-2.0
// Contiguous memory for a terminal.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "report/answers/cma_answer.h"

namespace jetmem {

std::string cma_text(const CmaAnswer& answer, const ScreenStyle& style);

}  // namespace jetmem
