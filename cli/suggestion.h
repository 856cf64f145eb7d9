// SPDX-License-Identifier: Apache-2.0
// Commands that jetmem suggests: they can be pasted, and look at what this command looked at.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace jetmem {

// As a shell takes it: my file as 'my file', control characters as $'\033'.
std::string shell_word(std::string_view word);

// Text with "jetmem top" in it, which becomes "jetmem --daemon orin-7 top": with the options that
// say what to look at (--root, --daemon and who logs in there, --config).
std::string with_target(const Target& target, std::string_view text);

// The same of commands parted by "; ". Of another device without those that can only look at this
// one; so it may become empty.
std::string commands_for(const Target& target, std::string_view commands);

}  // namespace jetmem
