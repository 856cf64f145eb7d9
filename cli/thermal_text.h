// What slows a device, for a terminal.
#pragma once

#include <string>

#include "cli/screen.h"
#include "report/answers/thermal_answer.h"

namespace jetmem {

std::string thermal_text(const ThermalAnswer& answer, const ScreenLook& look);

}  // namespace jetmem
