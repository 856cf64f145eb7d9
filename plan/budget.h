// SPDX-License-Identifier: Apache-2.0
// What a plan takes, and whether it fits: memory, memory in one piece, bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/device/known_devices.h"
#include "plan/plan.h"

namespace jetmem::plan {

// The device's values; absent means unknown.
struct DeviceMemory {
  std::string title;  // for people
  const device::KnownDevice* known = nullptr;
  bool is_measured = false;  // looked at, not looked up
  std::optional<double> module_bytes;
  std::optional<double> linux_bytes;  // MemTotal
  // What programs that are no part of the plan can be taken to need. Measured: what is used now
  // less what the plan's own parts may be of it is not known, so it is only shown beside the plan.
  std::optional<double> used_now;     // MemTotal - MemAvailable
  std::optional<double> buffers_now;  // GPU and camera memory (nvmap or DMA-BUFs)
  std::optional<double> cma_bytes;
  std::string no_cma;  // cma_bytes is 0, and no setting changes that: the reason
  std::optional<double> cma_used;
  std::optional<double> cma_largest_run;
  std::optional<double> peak_bytes_per_second;
  std::string peak_from;
  std::optional<double> bandwidth_now;  // bytes a second
  bool cameras_behind_smmu = true;
  bool has_cuda = false;  // models run on its GPU
};

struct Item {
  std::string group;  // "camera", "model", "language model", "service", "cuda"
  std::string name;
  std::string how;              // "4 x 3.1 MB nv12, 4 cameras"
  std::optional<double> bytes;  // absent: not known, and `how` says why
  double contiguous_bytes = 0;  // of these, in one piece each
  double largest_contiguous_run = 0;
  double bytes_per_second = 0;
  std::string_view bound{};  // "upper", "lower": `bytes` are at most, at least so many
};

enum class Fit : std::uint8_t { kFits, kTight, kDoesNotFit, kUnknown };
// "fits", "tight", "does not fit", "unknown".
std::string_view fit_name(Fit fit);

struct Budget {
  std::vector<Item> items;
  double bytes = 0;
  // The same where each upper bound is as low as it can be.
  double least_bytes = 0;
  // A model's weights or cache are not known, so the sum says only what does not fit.
  bool is_incomplete = false;
  double reserve = 0;
  double contiguous_bytes = 0;
  double largest_contiguous_run = 0;
  double bytes_per_second = 0;

  Fit memory = Fit::kUnknown;
  std::optional<double> left;  // Linux's memory less the plan and the reserve; negative: too much
  Fit cma = Fit::kUnknown;
  // To be set: the sum of what must be in one piece, and room for as much again as the largest
  // piece four times over, in whole 4 MiB; 0: none of the plan needs any.
  double cma_request = 0;
  Fit bandwidth = Fit::kUnknown;
  std::optional<double> bandwidth_share;  // of the peak
  // Tokens a second that the memory allows, for each language model: all weights and the whole
  // cache are read for each.
  std::vector<std::pair<std::string, double>> token_limits;

  std::vector<std::string> notes;     // assumptions and what is not known, each a sentence
  std::vector<std::string> problems;  // what cannot work: a DLA that the device has not
  Fit fit = Fit::kUnknown;            // the worst of all
};

Budget make_budget(const Plan& plan, const DeviceMemory& device);

// How to give CMA so many bytes on such a device, as lines for a person; none for what no device
// can have.
std::vector<std::string> cma_setting_advice(double bytes, const DeviceMemory& device);

}  // namespace jetmem::plan
