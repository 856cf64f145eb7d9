// SPDX-License-Identifier: Apache-2.0
#include "tests/report/exposition/prometheus_model.h"

#include <map>
#include <set>
#include <string>

#include "report/exposition/exposition.h"

namespace jetmem {
namespace {

prometheus::ClientMetric metric_of(const SampleTable::Slot& slot, double value) {
  prometheus::ClientMetric metric;
  const Descriptor& d = *slot.descriptor;
  const std::size_t first = d.is_pattern() ? 1 : 0;
  for (std::size_t i = first; i < slot.labels.size(); ++i) {
    metric.label.push_back({std::string(d.labels[i - first]), slot.labels[i]});
  }
  if (type_of(slot) == MetricType::kCounter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

}  // namespace

std::vector<prometheus::MetricFamily> prometheus_model(const SampleTable& table) {
  std::map<std::string, prometheus::MetricFamily> families;
  std::set<std::string> keys;
  for (const SampleTable::Section& section : table.sections()) {
    for (std::size_t i = 0; i < section.slots.size(); ++i) {
      const SampleTable::Slot& slot = section.slots[i];
      if (slot.is_duplicate || !keys.insert(slot.key).second) continue;
      prometheus::MetricFamily& family = families[slot.family];
      if (family.metric.empty()) {
        family.name = slot.family;
        family.help = help_of(slot);
        family.type = type_of(slot) == MetricType::kCounter ? prometheus::MetricType::Counter
                                                            : prometheus::MetricType::Gauge;
      }
      family.metric.push_back(metric_of(slot, section.values[i]));
    }
  }
  std::vector<prometheus::MetricFamily> out;
  out.reserve(families.size());
  for (auto& [name, family] : families) out.push_back(std::move(family));
  return out;
}

}  // namespace jetmem
