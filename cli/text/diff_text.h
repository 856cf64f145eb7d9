// SPDX-License-Identifier: Apache-2.0
// What changed, for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "report/answers/diff_answer.h"

namespace jetmem {

std::string diff_text(const DiffAnswer& answer, std::size_t width);

}  // namespace jetmem
