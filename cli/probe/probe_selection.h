// SPDX-License-Identifier: Apache-2.0
// The command line of `jetmem probe`, parsed and checked.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/gates.h"

namespace jetmem {

// As typed.
struct ProbeOptions {
  std::vector<std::string> kinds{};
  std::string size = "12MiB";
  std::string limit{};
  std::string deadline = "1m";
  std::string program{};
  bool bisect = false;
  bool force = false;
};

struct ProbeSelection {
  std::array<std::vector<std::string>, kProbeGroups> kinds;  // by group
  std::uint64_t frame_bytes = 0;
  std::optional<std::uint64_t> limit;
  std::chrono::seconds deadline{0};
};

// Errors: invalid options, described.
Result<ProbeSelection> understand(const ProbeOptions& options);

struct BisectLimit {
  std::uint64_t bytes = 0;
  std::string warning;  // if it was lowered
};
// The largest size of a bisection: what is available now minus a reserve for other programs; with
// `force` the requested limit. Errors: there is no room, or it is unknown.
Result<BisectLimit> bisect_limit(const ProbeSelection& needed, const GateInputs& now, bool force);

}  // namespace jetmem
