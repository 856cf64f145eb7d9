// What the command line of `jetmem probe` asks for, understood and held to its bounds.
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
  bool json = false;
};

struct WantedProbes {
  std::array<std::vector<std::string>, kProbeGroups> kinds;  // by group
  std::uint64_t frame_bytes = 0;
  std::optional<std::uint64_t> limit;
  std::chrono::seconds deadline{0};
};

// Errors: a user's mistake, in words.
Result<WantedProbes> understand(const ProbeOptions& options);

struct BisectLimit {
  std::uint64_t bytes = 0;
  std::string warning;  // where less than what was asked for
};
// Up to where a bisection may go: what is available now less what others may come to need; with
// `force` whatever was asked for. Errors: there is no room, or none is known.
Result<BisectLimit> bisect_limit(const WantedProbes& wanted, const GateInputs& now, bool force);

}  // namespace jetmem
