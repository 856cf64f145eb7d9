// SPDX-License-Identifier: Apache-2.0
// The last resort, for drivers that nobody listed: what the words of a line suggest. A guess is no
// event: it is shown and counted as what it is, and nothing follows from it.
#pragma once

#include <optional>
#include <string_view>

#include "collectors/kernel_log/event/kinds.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

struct Guess {
  EventKind kind = EventKind::kNone;
  // As the line begins; parts of it. One of them may be empty.
  std::string_view driver;
  std::string_view dev;
};

// What a line that is not in the catalogue may be about. Nothing for what a program
// printed or the kernel prints for information, nor where no driver stands in front.
std::optional<Guess> guess(const LogLine& line);

}  // namespace jetmem::kernel_log
