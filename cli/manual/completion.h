// What a shell completes after `jetmem`: commands, options, files where an option takes one.
#pragma once

#include <span>
#include <string>

#include "cli/manual/command_page.h"

namespace jetmem {

std::string bash_completion(std::span<const CommandPage> pages);
std::string zsh_completion(std::span<const CommandPage> pages);
std::string fish_completion(std::span<const CommandPage> pages);

}  // namespace jetmem
