// Events out of the kernel's own ring, or the log of a captured tree: what there is without a
// history.
#pragma once

#include <string>
#include <vector>

namespace jetmem {

struct RingWanted {
  std::string command = "events";  // for messages
  std::string root;
  std::string since;
  bool since_given = false;
  std::string until;
  bool until_given = false;
  std::vector<std::string> kinds;  // any of; empty: all
  bool json = false;
};

// Shows them; the exit status.
int show_ring_events(const RingWanted& wanted);

}  // namespace jetmem
