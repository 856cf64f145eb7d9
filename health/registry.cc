#include "health/registry.h"

#include "health/fragmentation.h"

namespace jetmem {

std::vector<std::unique_ptr<Derivation>> make_all_derivations(
    [[maybe_unused]] const HealthOptions& options) {
  std::vector<std::unique_ptr<Derivation>> derivations;
  derivations.push_back(std::make_unique<Fragmentation>());
  return derivations;
}

}  // namespace jetmem
