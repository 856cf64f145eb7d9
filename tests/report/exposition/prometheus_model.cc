// SPDX-License-Identifier: Apache-2.0
#include "tests/report/exposition/prometheus_model.h"

#include <algorithm>
#include <cstdlib>
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
    if (type_of(slot) == MetricType::kHistogram && d.labels[i - first] == "le") continue;
    metric.label.push_back({std::string(d.labels[i - first]), slot.labels[i]});
  }
  std::sort(metric.label.begin(), metric.label.end());
  if (type_of(slot) == MetricType::kCounter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

// One metric of a histogram is many slots, its first bucket first.
void add_to_histogram(prometheus::MetricFamily& family, const SampleTable::Slot& slot,
                      double value) {
  prometheus::ClientMetric metric = metric_of(slot, 0);
  if (family.metric.empty() || family.metric.back().label != metric.label) {
    family.metric.push_back(std::move(metric));
  }
  prometheus::ClientMetric::Histogram& histogram = family.metric.back().histogram;
  const auto count = static_cast<std::uint64_t>(value);
  if (slot.labels[0] == "sum") {
    histogram.sample_sum = value;
  } else if (slot.labels[0] == "count") {
    histogram.sample_count = count;
  } else {
    histogram.bucket.push_back({count, std::strtod(slot.labels.back().c_str(), nullptr)});
  }
}

prometheus::MetricType model_type(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
    default:
      return prometheus::MetricType::Gauge;
  }
}

}  // namespace

std::vector<prometheus::MetricFamily> prometheus_model(const SampleTable& table) {
  std::map<std::string, prometheus::MetricFamily> families;
  std::set<std::string> keys;
  for (const SampleTable::Section& section : table.sections()) {
    for (std::size_t i = 0; i < section.slots.size(); ++i) {
      const SampleTable::Slot& slot = section.slots[i];
      if (slot.is_duplicate || !keys.insert(slot.key).second) continue;
      prometheus::MetricFamily& family = families[std::string(headed_family(slot))];
      if (family.metric.empty()) {
        family.name = headed_family(slot);
        family.help = help_of(slot);
        family.type = model_type(type_of(slot));
      }
      if (family.type == prometheus::MetricType::Histogram) {
        add_to_histogram(family, slot, section.values[i]);
      } else {
        family.metric.push_back(metric_of(slot, section.values[i]));
      }
    }
  }
  std::vector<prometheus::MetricFamily> out;
  out.reserve(families.size());
  for (auto& [name, family] : families) out.push_back(std::move(family));
  return out;
}

}  // namespace jetmem
