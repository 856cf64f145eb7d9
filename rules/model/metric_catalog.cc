// SPDX-License-Identifier: Apache-2.0
#include "rules/model/metric_catalog.h"

#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"
#include "history/recorder/recorder_stats.h"

namespace jetmem {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() > head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

MetricCatalog make_catalog() {
  MetricCatalog catalog;
  for (const SourceInfo* info : all_source_infos()) catalog.add(info->metrics, {&info->name, 1});
  for (const DerivedInfo* info : derived_infos()) catalog.add(info->metrics, info->sources);
  catalog.add(sampler_metrics(), {});
  catalog.add(RecorderStats::metrics(), {});
  return catalog;
}

}  // namespace

std::vector<std::string_view> MetricCatalog::Metric::labels() const {
  std::vector<std::string_view> out;
  for (const std::string_view label : descriptor->labels) {
    if (!label.empty()) out.push_back(label);
  }
  return out;
}

const MetricCatalog& MetricCatalog::of_jetmem() {
  static const MetricCatalog all = make_catalog();
  return all;
}

void MetricCatalog::add(std::span<const Descriptor> descriptors,
                        std::span<const std::string_view> sources) {
  for (const Descriptor& descriptor : descriptors) {
    const Metric metric{&descriptor, false, descriptor.is_pattern(), sources};
    if (descriptor.is_pattern()) {
      patterns_.push_back(metric);
      continue;
    }
    exact_.emplace(descriptor.name, metric);
    if (descriptor.worst != Worst::kNone) {
      exact_.emplace(worst_name(descriptor.name, descriptor.worst),
                     Metric{&descriptor, true, false, sources});
    }
  }
}

std::optional<MetricCatalog::Metric> MetricCatalog::find(std::string_view name) const {
  if (const auto at = exact_.find(name); at != exact_.end()) return at->second;
  for (const Metric& metric : patterns_) {
    if (matches(metric.descriptor->name, name)) return metric;
  }
  return std::nullopt;
}

std::vector<std::string_view> MetricCatalog::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, metric] : exact_) out.push_back(name);
  return out;
}

}  // namespace jetmem
