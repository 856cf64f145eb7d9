// SPDX-License-Identifier: Apache-2.0
// The programs that jetmemd runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "daemon/children/program.h"

namespace jetmem {

std::vector<std::unique_ptr<Program>> make_all_programs(const ProgramContext& context);

// Every metric that programs write themselves.
std::vector<std::span<const Descriptor>> program_metrics();

}  // namespace jetmem
