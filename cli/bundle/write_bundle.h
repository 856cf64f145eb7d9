// SPDX-License-Identifier: Apache-2.0
// Everything that jetmem reads of a device, put into a bundle from which the same can be read
// again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/root/manifest.h"
#include "cli/client/device_client.h"
#include "config/settings.h"

namespace jetmem {

// `root` is of a captured tree.
struct BundleOptions : Target {
  std::string file;    // "-": stdout
  std::string folder;  // the one inside that all of it lies in
  std::string reason;
  std::string alert;
  std::chrono::seconds history{0};  // 0: none
  bool whole_log = false;           // also the lines that jetmem does not decode
  // A folder of this process alone, for the bundle and the copy of the history as they are written.
  std::string part_folder{};
  std::string history_file{};  // the recorder's; empty: where it usually is
  std::uint64_t max_bytes = 64U << 20;
  Nanoseconds now{0};  // wall clock
  std::function<void(std::string_view step)> progress{};
};

struct BundleDone {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  Manifest manifest;
};

// Errors: the root cannot be read, the bundle cannot be written or would be too large. What of the
// device could not be read is in the manifest.
Result<BundleDone> write_bundle(const BundleOptions& needed, const Settings& settings);

}  // namespace jetmem
