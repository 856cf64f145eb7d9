// SPDX-License-Identifier: Apache-2.0
// The formats of `jetmem decode`: each is a command of its own below it.
#pragma once

#include "cli/commands.h"

namespace jetmem {

void add_decode_kernel_log(const Command& decode);
void add_decode_tegrastats(const Command& decode);

}  // namespace jetmem
