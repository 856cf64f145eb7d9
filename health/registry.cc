#include "health/registry.h"

#include "health/bandwidth.h"
#include "health/cma_health.h"
#include "health/fragmentation.h"
#include "health/memory_health.h"
#include "health/memory_pressure.h"
#include "health/throttling.h"

namespace jetmem {

std::vector<std::unique_ptr<Derivation>> make_all_derivations(const HealthOptions& options) {
  std::vector<std::unique_ptr<Derivation>> derivations;
  derivations.push_back(std::make_unique<Fragmentation>());
  derivations.push_back(std::make_unique<CmaHealth>(options));
  derivations.push_back(std::make_unique<MemoryHealth>());
  derivations.push_back(std::make_unique<MemoryPressure>());
  derivations.push_back(std::make_unique<Throttling>());
  derivations.push_back(std::make_unique<Bandwidth>());
  return derivations;
}

}  // namespace jetmem
