// What the web thread needs to be told.
#pragma once

#include <chrono>
#include <vector>

#include "base/clock.h"
#include "config/listen_address.h"

namespace jetmem {

struct WebOptions {
  std::vector<ListenAddress> listen;
  // For each address of its own: who fills the TCP port does not lock out the Unix socket.
  unsigned max_connections = 64;
  std::chrono::milliseconds idle_timeout{10'000};  // libmicrohttpd counts whole seconds
  // A page older than this is not served: the samples in it are no longer true.
  Nanoseconds stall_limit = std::chrono::seconds(10);
  // A loop that has not come round for this long is not alive.
  Nanoseconds heartbeat_limit = std::chrono::seconds(10);
  Nanoseconds listen_retry = std::chrono::seconds(10);
};

}  // namespace jetmem
