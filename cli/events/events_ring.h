// SPDX-License-Identifier: Apache-2.0
// Events out of the kernel's own ring, or the log of a captured tree: what there is without a
// history.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/events/events_past.h"

namespace jetmem {

// Shows those that are needed, between the moments that the options name; the exit status.
int show_ring(const Target& target, EventFilter needed, const std::optional<std::string>& since,
              const std::optional<std::string>& until);

}  // namespace jetmem
