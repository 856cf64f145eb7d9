// SPDX-License-Identifier: Apache-2.0
// Options of the web thread.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "config/settings.h"

namespace jetmem {

// Connections that an address may have beside http.max_connections: those that are being closed for
// new ones.
inline constexpr unsigned kSpareConnections = 16;

struct WebOptions : HttpSettings {
  // The path of the Unix sockets, if any, where every local user may ask.
  std::string open_socket;
  Nanoseconds listen_retry = std::chrono::seconds(10);
};

}  // namespace jetmem
