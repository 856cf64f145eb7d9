// SPDX-License-Identifier: Apache-2.0
#include "report/device/sample_set.h"

#include <algorithm>
#include <tuple>

namespace jetmem {
namespace {

bool matches(const Sample& sample, SampleSet::Match match) {
  return std::all_of(match.begin(), match.end(), [&](const auto& needed) {
    return sample.label(needed.first) == needed.second;
  });
}

}  // namespace

SampleSet SampleSet::of(const SampleTable& table) {
  SampleSet out;
  for (const SampleTable::Section& section : table.sections()) {
    for (std::size_t i = 0; i < section.slots.size(); ++i) {
      if (section.slots[i].is_duplicate) continue;
      if (auto name = parse_series_key(section.slots[i].key)) {
        out.add(std::move(*name), section.values[i]);
      }
    }
  }
  out.sort();
  return out;
}

SampleSet SampleSet::of(const Page& page) {
  SampleSet out;
  if (!page.layout) return out;
  const auto& series = page.layout->series();
  out.samples_.reserve(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (auto name = parse_series_key(page.layout->key(i))) {
      out.add(std::move(*name), page.values[series[i].value]);
    }
  }
  out.sort();
  return out;
}

SampleSet SampleSet::of(std::span<const std::pair<std::string, double>> series) {
  SampleSet out;
  for (const auto& [key, value] : series) {
    if (auto name = parse_series_key(key)) out.add(std::move(*name), value);
  }
  out.sort();
  return out;
}

void SampleSet::add(SeriesName name, double value) { samples_.push_back({std::move(name), value}); }

void SampleSet::sort() {
  const auto by_name = [](const Sample& a, const Sample& b) {
    return std::tie(a.name.family, a.name.labels) < std::tie(b.name.family, b.name.labels);
  };
  std::stable_sort(samples_.begin(), samples_.end(), by_name);
  samples_.erase(std::unique(samples_.begin(), samples_.end(),
                             [](const Sample& a, const Sample& b) { return a.name == b.name; }),
                 samples_.end());
}

std::span<const Sample> SampleSet::family(std::string_view name) const {
  const auto first = std::lower_bound(
      samples_.begin(), samples_.end(), name,
      [](const Sample& sample, std::string_view needed) { return sample.name.family < needed; });
  auto last = first;
  while (last != samples_.end() && last->name.family == name) ++last;
  return {first, last};
}

std::optional<double> SampleSet::sum(std::string_view name) const {
  std::optional<double> out;
  for (const Sample& sample : family(name)) out = out.value_or(0) + sample.value;
  return out;
}

const Sample* SampleSet::find(std::string_view family, Match match) const {
  const Sample* found = nullptr;
  for (const Sample& sample : this->family(family)) {
    if (!matches(sample, match)) continue;
    if (found != nullptr) return nullptr;
    found = &sample;
  }
  return found;
}

std::optional<double> SampleSet::value(std::string_view family, Match match) const {
  const Sample* const found = find(family, match);
  if (found == nullptr) return std::nullopt;
  return found->value;
}

std::optional<double> SampleSet::meminfo(std::string_view field) const {
  return value("jetmem_meminfo_" + std::string(field) + "_bytes");
}

}  // namespace jetmem
