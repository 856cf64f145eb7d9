// SPDX-License-Identifier: Apache-2.0
#include "health/registry.h"

#include <array>

#include "health/bandwidth.h"
#include "health/clock_steps.h"
#include "health/memory/cma_health.h"
#include "health/memory/fragmentation.h"
#include "health/memory/memory_exhaustion.h"
#include "health/memory/memory_health.h"
#include "health/memory/memory_pressure.h"
#include "health/probe_baseline.h"
#include "health/recent_events.h"
#include "health/throttling.h"
#include "health/trends.h"

namespace jetmem {

std::vector<std::unique_ptr<DerivedMetric>> make_derived_metrics(const HealthOptions& options) {
  std::vector<std::unique_ptr<DerivedMetric>> derived_metrics;
  derived_metrics.push_back(std::make_unique<Fragmentation>());
  derived_metrics.push_back(std::make_unique<CmaHealth>(options));
  derived_metrics.push_back(std::make_unique<MemoryHealth>());
  derived_metrics.push_back(std::make_unique<MemoryExhaustion>());
  derived_metrics.push_back(std::make_unique<MemoryPressure>());
  derived_metrics.push_back(std::make_unique<Throttling>());
  derived_metrics.push_back(std::make_unique<Bandwidth>());
  derived_metrics.push_back(std::make_unique<Trends>());
  derived_metrics.push_back(std::make_unique<RecentEvents>(options));
  derived_metrics.push_back(std::make_unique<ProbeBaseline>());
  derived_metrics.push_back(std::make_unique<ClockSteps>());
  return derived_metrics;
}

std::span<const DerivedInfo* const> derived_infos() {
  static constexpr std::array<const DerivedInfo*, 11> kInfos{
      &Fragmentation::kInfo,  &CmaHealth::kInfo,     &MemoryHealth::kInfo, &MemoryExhaustion::kInfo,
      &MemoryPressure::kInfo, &Throttling::kInfo,    &Bandwidth::kInfo,    &Trends::kInfo,
      &RecentEvents::kInfo,   &ProbeBaseline::kInfo, &ClockSteps::kInfo};
  return kInfos;
}

}  // namespace jetmem
