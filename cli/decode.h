// The formats of `jetmem decode`: each is a command of its own below it.
#pragma once

#include "cli/commands.h"

namespace jetmem {

void add_decode_kernel_log(CLI::App& decode, CommandContext& context);
void add_decode_tegrastats(CLI::App& decode, CommandContext& context);

}  // namespace jetmem
