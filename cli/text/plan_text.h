// SPDX-License-Identifier: Apache-2.0
// A plan's answer for a terminal.
#pragma once

#include <string>

#include "report/answers/plan_answer.h"

namespace jetmem {

std::string plan_text(const PlanAnswer& answer);

}  // namespace jetmem
