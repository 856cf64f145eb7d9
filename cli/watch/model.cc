// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/model.h"

#include <algorithm>
#include <utility>

namespace jetmem::watch {
std::optional<double> value_of_group(const DeviceNow& now, const MemoryBudget& budget,
                                     Quantity quantity) {
  const SampleSet& samples = now.samples;
  switch (quantity) {
    case Quantity::kAvailable:
      return samples.meminfo("MemAvailable");
    case Quantity::kGpu: {
      const auto* part = budget.part("gpu");
      if (part == nullptr) return std::nullopt;
      return part->bytes ? part->bytes : part->reported_bytes;
    }
    case Quantity::kCmaUsed: {
      // Of all areas or of none: a part of them would pass for all.
      const auto* part = budget.part("cma");
      return part != nullptr ? part->bytes : std::nullopt;
    }
    case Quantity::kSwapUsed: {
      const auto total = samples.meminfo("SwapTotal");
      const auto free = samples.meminfo("SwapFree");
      if (!total || !free || *total <= 0) return std::nullopt;
      return *total - *free;
    }
    case Quantity::kPressure:
      return samples.value("jetmem_pressure_stall_ratio",
                           {{"resource", "memory"}, {"kind", "some"}, {"window", "10s"}});
    case Quantity::kTemperature: {
      std::optional<double> out;
      for (const Sample& zone : samples.family("jetmem_thermal_zone_celsius")) {
        out = out ? std::max(*out, zone.value) : zone.value;
      }
      return out;
    }
    case Quantity::kCount:
      break;
  }
  return std::nullopt;
}

void Model::checked(Result<DeviceNow> style, double at, double elapsed) {
  ++looks_;
  elapsed_ = elapsed;
  if (style) {
    now_ = std::move(*style);
    budget_ = memory_budget(*now_);
    at_ = at;
    error_.clear();
  } else {
    error_ = std::move(style.error().message);
  }
  for (std::size_t i = 0; i < past_.size(); ++i) {
    std::optional<double> value;
    if (error_.empty()) value = value_of_group(*now_, budget_, static_cast<Quantity>(i));
    past_[i].push_back(value);
    if (past_[i].size() > kPast) past_[i].pop_front();
  }
}

double next_snapshot(const Model& model, double interval) {
  double out = std::max(interval, 3 * model.elapsed());
  if (model.now() != nullptr && model.now()->by == SnapshotOrigin::kCommand) {
    out = std::max(out, kMinSnapshotInterval);
  }
  return out;
}

}  // namespace jetmem::watch
