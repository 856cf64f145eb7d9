#include "health/registry.h"

#include "health/fragmentation.h"

namespace jetmem {

std::vector<std::unique_ptr<Derivation>> make_all_derivations() {
  std::vector<std::unique_ptr<Derivation>> derivations;
  derivations.push_back(std::make_unique<Fragmentation>());
  return derivations;
}

}  // namespace jetmem
