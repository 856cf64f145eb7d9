// SPDX-License-Identifier: Apache-2.0
// Makes room for one request: has the kernel write back and drop its page cache, or for a
// contiguous block compact, and waits. Nothing is done that does not help this request.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/commands/compact.h"
#include "report/fits/fits_answer.h"

namespace jetmem {

struct RoomRequest {
  MemoryKind kind = MemoryKind::kDevice;
  double bytes = 0;
  std::chrono::milliseconds wait{0};  // for it to fit, after all else was done
  bool dry_run = false;
};

struct RoomMade {
  FitsAnswer before;
  FitsAnswer after;
  std::vector<std::string>
      done;  // with dry_run: what would be done, each if the one before is not enough
};

struct RoomMaker {
  std::function<Result<DeviceNow>()> read{};
  std::function<void(std::chrono::milliseconds)> sleep{};
  std::string drop_caches = "/proc/sys/vm/drop_caches";
  CompactFiles compact{};
  const Clock& clock;

  // Errors: the device cannot be read; a file of the kernel's cannot be written (kDenied: only root
  // may): what was done until then stays done.
  Result<RoomMade> make(const RoomRequest& request) const;
};

}  // namespace jetmem
