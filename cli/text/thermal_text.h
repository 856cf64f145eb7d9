// SPDX-License-Identifier: Apache-2.0
// What slows a device, for a terminal.
#pragma once

#include <string>

#include "cli/draw/terminal.h"
#include "report/answers/thermal_answer.h"

namespace jetmem {

std::string thermal_text(const ThermalAnswer& answer, const ScreenStyle& style);

}  // namespace jetmem
