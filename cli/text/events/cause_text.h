// SPDX-License-Identifier: Apache-2.0
// Why events happened and what to do, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "report/diagnosis/cause.h"

namespace jetmem {

// Empty where nothing is explained. At most kMostCauses are shown; the rest is counted.
inline constexpr std::size_t kMostCauses = 6;
std::string causes_text(std::span<const diagnosis::Cause> causes);
nlohmann::ordered_json cause_json(const diagnosis::Cause& cause);

}  // namespace jetmem
