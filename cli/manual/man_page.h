// A command's page for man(1).
#pragma once

#include <span>
#include <string>

#include "cli/manual/command_page.h"

namespace jetmem {

// `all`: for SEE ALSO.
std::string man_page(const CommandPage& page, std::span<const CommandPage> all);

}  // namespace jetmem
