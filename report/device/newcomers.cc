// SPDX-License-Identifier: Apache-2.0
#include "report/device/newcomers.h"

#include <algorithm>
#include <array>
#include <string>

#include "collectors/processes/group/shown_groups.h"

namespace jetmem {
namespace {

using Newcomer = Processes::Newcomer;
struct Figure {
  const char* name;
  std::optional<std::uint64_t> Newcomer::*value;
};
constexpr std::array<Figure, 6> kFigures{{
    {"jetmem_process_group_processes", &Newcomer::processes},
    {"jetmem_process_group_resident_bytes", &Newcomer::resident},
    {"jetmem_process_group_shared_bytes", &Newcomer::shared},
    {"jetmem_process_group_gpu_bytes", &Newcomer::gpu},
    {"jetmem_process_group_dmabuf_bytes", &Newcomer::dmabuf},
    {"jetmem_process_group_mapped_bytes", &Newcomer::mapped},
}};

SeriesName named(SeriesName name, const ProcessKey& key) {
  for (auto& [label, value] : name.labels) {
    if (label == "command") value = key.command;
    if (label == "unit") value = key.unit;
    if (label == "container") value = key.container;
  }
  return name;
}

}  // namespace

void add_newcomers(const std::vector<Newcomer>& newcomers, SampleSet& samples) {
  if (newcomers.empty()) return;
  SampleSet out;
  for (const Sample& sample : samples.all()) {
    const auto* const figure =
        std::find_if(kFigures.begin(), kFigures.end(),
                     [&](const Figure& each) { return sample.name.family == each.name; });
    double value = sample.value;
    const bool is_rest = figure != kFigures.end() &&
                         sample.label("command") == ShownGroups::kOther &&
                         sample.label("unit").empty() && sample.label("container").empty();
    for (const Newcomer& newcomer : newcomers) {
      if (!is_rest || !(newcomer.*(figure->value))) continue;
      const auto part = static_cast<double>(*(newcomer.*(figure->value)));
      // The page and the newcomers may be of two readings.
      if (part > value) continue;
      out.add(named(sample.name, newcomer.key), part);
      value -= part;
      // A name, no part of anything.
      if (figure->value == &Newcomer::resident && newcomer.pid) {
        SeriesName pid = named(sample.name, newcomer.key);
        pid.family = "jetmem_process_group_pid";
        out.add(std::move(pid), static_cast<double>(*newcomer.pid));
      }
    }
    out.add(sample.name, value);
  }
  out.sort();
  samples = std::move(out);
}

}  // namespace jetmem
