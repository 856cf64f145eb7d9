// SPDX-License-Identifier: Apache-2.0
// The samples of one moment by name: the input of every answer, from the daemon's table, a single
// reading, a captured bundle or the recorder.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "metrics/sample.h"
#include "metrics/series_key.h"
#include "report/exposition/exposition.h"

namespace jetmem {

struct Sample {
  SeriesName name;
  double value = 0;

  std::string_view label(std::string_view label) const { return name.label(label); }
};

class SampleSet {
 public:
  using Match = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  static SampleSet of(const SampleTable& table);
  static SampleSet of(const Page& page);
  static SampleSet of(std::span<const std::pair<std::string, double>> series);

  void add(SeriesName name, double value);
  // To be called once all are added; later ones of the same name are dropped.
  void sort();

  // All samples of a metric, in the order of their labels.
  std::span<const Sample> family(std::string_view name) const;
  // The one sample of a metric that has these labels (others may be any). Absent when there is
  // none, or more than one.
  std::optional<double> value(std::string_view family, Match match = {}) const;
  const Sample* find(std::string_view family, Match match = {}) const;
  // Of all samples of a metric; absent where there are none.
  std::optional<double> sum(std::string_view family) const;
  // jetmem_meminfo_FIELD_bytes.
  std::optional<double> meminfo(std::string_view field) const;

  std::span<const Sample> all() const { return samples_; }
  bool empty() const { return samples_.empty(); }

 private:
  std::vector<Sample> samples_;  // by family, then labels
};

}  // namespace jetmem
