#include "health/registry.h"

#include "health/bandwidth.h"
#include "health/clock_leaps.h"
#include "health/cma_health.h"
#include "health/fragmentation.h"
#include "health/memory_health.h"
#include "health/memory_pressure.h"
#include "health/probe_baseline.h"
#include "health/recent_events.h"
#include "health/throttling.h"
#include "health/trends.h"

namespace jetmem {

std::vector<std::unique_ptr<Derivation>> make_all_derivations(const HealthOptions& options) {
  std::vector<std::unique_ptr<Derivation>> derivations;
  derivations.push_back(std::make_unique<Fragmentation>());
  derivations.push_back(std::make_unique<CmaHealth>(options));
  derivations.push_back(std::make_unique<MemoryHealth>());
  derivations.push_back(std::make_unique<MemoryPressure>());
  derivations.push_back(std::make_unique<Throttling>());
  derivations.push_back(std::make_unique<Bandwidth>());
  derivations.push_back(std::make_unique<Trends>());
  derivations.push_back(std::make_unique<RecentEvents>(options));
  derivations.push_back(std::make_unique<ProbeBaseline>());
  derivations.push_back(std::make_unique<ClockLeaps>());
  return derivations;
}

}  // namespace jetmem
