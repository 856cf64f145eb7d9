#include "cli/watch/model.h"

#include <algorithm>
#include <utility>

namespace jetmem::watch {
std::optional<double> figure_of(const DeviceNow& now, const MemoryBudget& budget, Figure figure) {
  const SampleSet& samples = now.samples;
  switch (figure) {
    case Figure::kAvailable:
      return samples.meminfo("MemAvailable");
    case Figure::kGpu: {
      const auto* part = budget.part("gpu");
      if (part == nullptr) return std::nullopt;
      return part->bytes ? part->bytes : part->told_bytes;
    }
    case Figure::kCmaUsed: {
      // Of all areas or of none: a part of them would pass for all.
      const auto* part = budget.part("cma");
      return part != nullptr ? part->bytes : std::nullopt;
    }
    case Figure::kSwapUsed: {
      const auto total = samples.meminfo("SwapTotal");
      const auto free = samples.meminfo("SwapFree");
      if (!total || !free || *total <= 0) return std::nullopt;
      return *total - *free;
    }
    case Figure::kPressure:
      return samples.value("jetmem_pressure_stall_ratio",
                           {{"resource", "memory"}, {"kind", "some"}, {"window", "10s"}});
    case Figure::kTemperature: {
      std::optional<double> out;
      for (const Sample& zone : samples.family("jetmem_thermal_zone_celsius")) {
        out = out ? std::max(*out, zone.value) : zone.value;
      }
      return out;
    }
    case Figure::kCount:
      break;
  }
  return std::nullopt;
}

void Model::looked(Result<DeviceNow> look, double at, double took) {
  ++looks_;
  took_ = took;
  if (look) {
    now_ = std::move(*look);
    budget_ = memory_budget(*now_);
    at_ = at;
    error_.clear();
  } else {
    error_ = std::move(look.error().message);
  }
  for (std::size_t i = 0; i < past_.size(); ++i) {
    std::optional<double> value;
    if (error_.empty()) value = figure_of(*now_, budget_, static_cast<Figure>(i));
    past_[i].push_back(value);
    if (past_[i].size() > kPast) past_[i].pop_front();
  }
}

double next_look(const Model& model, double interval) {
  double out = std::max(interval, 3 * model.took());
  if (model.now() != nullptr && model.now()->by == LookBy::kCommand) {
    out = std::max(out, kLeastOwnLook);
  }
  return out;
}

}  // namespace jetmem::watch
