// What `jetmem` without a command shows.
#pragma once

#include "cli/commands.h"

namespace jetmem {

void show_status(CommandContext& context);

}  // namespace jetmem
