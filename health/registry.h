// Every derivation there is.
#pragma once

#include <memory>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

// In the order in which they are written.
std::vector<std::unique_ptr<Derivation>> make_all_derivations();

}  // namespace jetmem
