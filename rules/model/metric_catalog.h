// SPDX-License-Identifier: Apache-2.0
// What a rule may mention: every metric that a source, a derivation or the recorder declares, with
// its labels and the sources that it comes from. A rule on anything else could never fire, so it is
// refused.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

class MetricCatalog {
 public:
  struct Metric {
    const Descriptor* descriptor = nullptr;
    bool is_companion = false;   // worst of the last minute
    bool is_of_pattern = false;  // whether it exists is up to the kernel
    // Blind in any of these, the metric says nothing.
    std::span<const std::string_view> sources;

    std::vector<std::string_view> labels() const;
    bool is_counter() const { return descriptor->type == MetricType::kCounter && !is_companion; }
  };

  // All metrics that this build declares. Of those about jetmemd itself, only the history's.
  static const MetricCatalog& of_jetmem();

  MetricCatalog() = default;
  // `descriptors` and `sources` must outlive the catalog.
  void add(std::span<const Descriptor> descriptors, std::span<const std::string_view> sources);

  // An exact name first, then one that a pattern ("jetmem_meminfo_*_bytes") makes.
  std::optional<Metric> find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, Metric, std::less<>> exact_;
  std::vector<Metric> patterns_;
};

}  // namespace jetmem
