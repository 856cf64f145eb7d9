// Headers that the web configuration adds to every answer over TCP.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace jetmem {

using ExtraHeaders = std::vector<std::pair<std::string, std::string>>;

}  // namespace jetmem
