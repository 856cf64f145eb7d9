// SPDX-License-Identifier: Apache-2.0
// Counts the bundles in a folder and their bytes. The folder's disk may hang, so a short-lived
// thread reads it and nobody waits for that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/worker_thread.h"

namespace jetmem {

struct BundlesSeen {
  std::uint64_t bundles = 0;
  std::uint64_t bytes = 0;  // what killed captures left behind included
  // Number of a bundle, or of what is left of one (base/root/bundle_name.h).
  std::uint64_t highest = 0;
  // When each bundle was written, since 1970.
  std::vector<Nanoseconds> written;
};

class BundleCount {
 public:
  // Reads the folder, after a read that is under way; a missing folder holds none. First it
  // removes what a killed capture left of the bundle `remove_parts_of`, if one is named.
  void ask(const std::string& folder, const std::string& remove_parts_of = {});
  struct Look {
    std::optional<BundlesSeen> seen;  // absent: the folder cannot be read
  };
  // What the last read found, once.
  std::optional<Look> take();
  bool is_requested() const;

 private:
  struct Shared;
  static void run(Shared& shared);
  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;  // of the newest look
};

}  // namespace jetmem
