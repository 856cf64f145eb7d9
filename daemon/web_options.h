// What the web thread needs to be told.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/listen_address.h"

namespace jetmem {

struct WebOptions {
  std::vector<ListenAddress> listen;
  // Of them the Unix sockets at this path, if any: every local user may ask there.
  std::string open_socket;
  // For each address of its own: who fills the TCP port does not lock out the Unix socket.
  unsigned max_connections = 64;
  std::chrono::milliseconds idle_timeout{10'000};  // libmicrohttpd counts whole seconds
  Nanoseconds listen_retry = std::chrono::seconds(10);
};

}  // namespace jetmem
