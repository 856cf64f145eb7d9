// SPDX-License-Identifier: Apache-2.0
// jetmem rules explain NAME
#pragma once

#include "cli/commands.h"

namespace jetmem {

void add_rules_explain(const Command& rules);

}  // namespace jetmem
