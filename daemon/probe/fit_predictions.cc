// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/fit_predictions.h"

#include <optional>

namespace jetmem {
namespace {

constexpr std::array kFitMetrics{
    counter("jetmem_fits_predictions_total",
            "Probes, by what jetmem fits would have answered just before without the map of CMA "
            "(predicted: now, after_making_room, no, unknown) and by what happened: allocated, or "
            "refused for lack of memory. now with refused is a wrong yes, no with allocated a "
            "wrong no.",
            {"predicted", "happened"}, 8),
};

// Nothing: none that jetmem fits knows, or of another GPU than the first. Heaps of CMA areas have
// the names that the kernel (default_cma_region, reserved) or a device tree (linux,cma) gives them.
std::optional<MemoryKind> kind_of(const ProbeRun::Probe& probe) {
  if (probe.kind == "device" && probe.target.empty()) return MemoryKind::kDevice;
  if (probe.kind == "pinned" && probe.target.empty()) return MemoryKind::kPinned;
  if (probe.kind != "dmabuf") return std::nullopt;
  if (probe.target.starts_with("system")) return MemoryKind::kDmabuf;
  const bool is_cma = probe.target.find("cma") != std::string::npos || probe.target == "reserved";
  return is_cma ? std::optional(MemoryKind::kCma) : std::nullopt;
}

}  // namespace

void FitPredictions::predict(const DeviceNow& now, double bytes) {
  for (std::size_t i = 0; i < predicted_.size(); ++i) {
    predicted_[i] = fits_answer(now, static_cast<MemoryKind>(i), bytes).fit;
  }
}

void FitPredictions::happened(const ProbeRun::Probe& probe) {
  const auto kind = kind_of(probe);
  if (!kind) return;
  const auto predicted = static_cast<std::size_t>(predicted_[static_cast<std::size_t>(*kind)]);
  const bool is_short = probe.error == "ENOMEM" || probe.error == "CUDA_ERROR_OUT_OF_MEMORY";
  if (probe.state == ProbeState::kOk || probe.state == ProbeState::kMismatch) {
    ++allocated_[predicted];
  } else if (probe.state == ProbeState::kFailed && is_short) {
    ++refused_[predicted];
  }
}

void FitPredictions::write(SampleWriter& out) const {
  for (std::size_t i = 0; i < kFits; ++i) {
    const std::string_view predicted = fit_name(static_cast<Fit>(i));
    out.put(kFitMetrics[0], static_cast<double>(allocated_[i]), predicted, "allocated");
    out.put(kFitMetrics[0], static_cast<double>(refused_[i]), predicted, "refused");
  }
}

std::span<const Descriptor> fit_prediction_metrics() { return kFitMetrics; }

}  // namespace jetmem
