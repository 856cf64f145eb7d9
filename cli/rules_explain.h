// jetmem rules explain NAME
#pragma once

#include "cli/commands.h"

namespace jetmem {

void add_rules_explain(CLI::App& rules, CommandContext& context);

}  // namespace jetmem
