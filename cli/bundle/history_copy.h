// SPDX-License-Identifier: Apache-2.0
// A consistent copy of the recorder's file, cut to its last hours, while the daemon writes on. Only
// what is wanted is ever written: a flash wears out.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/bundle/redact.h"

namespace jetmem {

struct HistoryCopyOptions {
  std::string file;    // nothing of which is trusted
  std::string beside;  // what the copy is called while it is made; nothing is there
  bool live = true;    // another process may write it
  std::chrono::seconds keep{0};
  std::uint64_t max_bytes = 0;
};

struct HistoryCopy {
  UniqueFd fd;  // of a file that has no name any more
  std::uint64_t size = 0;
  std::uint64_t events_cut = 0;
  Redacted redacted;  // of the texts of its events
};

// Errors: there is none (kAbsent), the disk has no room for it, it is none of jetmem's, damaged, or
// larger than `max_bytes`.
Result<HistoryCopy> copy_history(const HistoryCopyOptions& needed);

}  // namespace jetmem
