// SPDX-License-Identifier: Apache-2.0
#include "library/collectable.h"

#include <prometheus/metric_family.h>

#include "cli/client/device_client.h"
#include "report/device/device_now.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

prometheus::ClientMetric metric_of(const SeriesName& name, prometheus::MetricType type,
                                   double value) {
  prometheus::ClientMetric out;
  for (const auto& [label, text] : name.labels) out.label.push_back({label, text});
  switch (type) {
    case prometheus::MetricType::Counter:
      out.counter.value = value;
      break;
    case prometheus::MetricType::Gauge:
      out.gauge.value = value;
      break;
    default:
      out.untyped.value = value;
  }
  return out;
}

prometheus::MetricFamily up(bool is_up) {
  return {"jetmem_up",
          "1 when the jetmemd that this program asks answered, 0 when it did not.",
          prometheus::MetricType::Gauge,
          {metric_of({}, prometheus::MetricType::Gauge, is_up ? 1 : 0)}};
}

// Every counter of jetmem's, and nothing else, has a name that ends in _total. The three parts of a
// histogram are families of their own here.
prometheus::MetricType type_of(std::string_view name) {
  if (name.ends_with("_total")) return prometheus::MetricType::Counter;
  for (const std::string_view part : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(part)) return prometheus::MetricType::Untyped;
  }
  return prometheus::MetricType::Gauge;
}

prometheus::MetricFamily family_of(const std::string& name) {
  const auto metric = MetricCatalog::of_jetmem().find(name);
  return {name,
          metric ? std::string(metric->descriptor->help) : "Of jetmemd: docs/metrics.md.",
          type_of(name),
          {}};
}

}  // namespace

std::vector<prometheus::MetricFamily> Collectable::Collect() const {
  Target target;
  target.daemon = address_;
  const auto now = DeviceClient("", target, Settings()).ask("/api/v1/now", parse_device_now);
  std::vector<prometheus::MetricFamily> out{up(now.has_value())};
  if (!now) return out;
  for (const Sample& sample : now->samples.all()) {  // by family
    if (out.back().name != sample.name.family) out.push_back(family_of(sample.name.family));
    prometheus::MetricFamily& family = out.back();
    family.metric.push_back(metric_of(sample.name, family.type, sample.value));
  }
  return out;
}

}  // namespace jetmem
