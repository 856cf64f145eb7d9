// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/sampling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectors/sampler/registry.h"
#include "health/memory/memory_exhaustion.h"
#include "health/registry.h"

namespace jetmem {
namespace {

// With a fast clock three intervals of it may be over before jetmem-reader gets to run.
constexpr Nanoseconds kAnswerTime = std::chrono::seconds(1);

}  // namespace

Sampling::Sampling(const DaemonContext& context) {
  std::vector<std::unique_ptr<Source>> sources = make_all_sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (auto* found = dynamic_cast<BootSource*>(sources[i].get())) {
      boot = found;
      boot_index = i;
    } else if (auto* log = dynamic_cast<KernelLogSource*>(sources[i].get())) {
      kernel_log = log;
      kernel_log_index = i;
    }
  }
  processes_index = static_cast<std::size_t>(
      std::find_if(sources.begin(), sources.end(),
                   [](const auto& source) { return source->info().name == "processes"; }) -
      sources.begin());
  Sampler::Options options;
  if (context.clock.speed() != 1) options.answer_time = context.at_speed(kAnswerTime);
  sampler = std::make_unique<Sampler>(context.root, context.clock, table, std::move(sources),
                                      make_derived_metrics(health_options), options);
  const auto& sections = table.sections();
  exhaustion_section =
      static_cast<std::size_t>(std::find_if(sections.begin(), sections.end(),
                                            [](const auto& section) {
                                              return section.name == MemoryExhaustion::kInfo.name;
                                            }) -
                               sections.begin());
  processes_section = table.add_section("processes of jetmem");
  alerts_section = table.add_section("alerts");
  cycle_section = table.add_section("cycles");
  daemon_section = table.add_section("jetmemd");
  history_section = table.add_section("history");
}

}  // namespace jetmem
