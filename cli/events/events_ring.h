// SPDX-License-Identifier: Apache-2.0
// Events out of the kernel's own ring, or the log of a captured tree: what there is without a
// history.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace jetmem {

struct RingQuery {
  std::string root;
  std::optional<std::string> since;
  std::optional<std::string> until;
  std::vector<std::string> kinds;   // any of; empty: all
  std::vector<std::string> config;  // settings files that name the site's own messages
  std::size_t limit = 200;          // the newest
  bool json = false;
  bool with_events = true;
  bool with_guesses = true;
};

// Shows them; the exit status.
int show_ring_events(const RingQuery& needed);

}  // namespace jetmem
