// SPDX-License-Identifier: Apache-2.0
// Reads of jetmemd's state directory. All of them wait for the disk: have a DiskQuestion ask.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

#include "base/result.h"
#include "collectors/device/boot/history.h"

namespace jetmem {

// The state of the marks file when it was read last.
struct MarksSeen {
  off_t size = -1;
  timespec changed{};
};

struct MarksState {
  MarksSeen seen;
  // Nothing where the file is as it was, is not there, or somebody adds to it right now.
  std::optional<Result<std::string>> text;
};

struct StateFound {
  boot::History history;
  std::string lost;      // why a new one begins, and where the old one is; empty: none
  std::string no_marks;  // why jetmem mark will not work; empty: it does
  MarksState marks;
};

MarksState check_marks(const std::string& directory, const MarksSeen& seen);
// The first look: sets aside a history that is none, and makes the marks file.
StateFound open_state(const std::string& directory);

}  // namespace jetmem
