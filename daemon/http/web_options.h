// SPDX-License-Identifier: Apache-2.0
// Options of the web thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "config/settings.h"

namespace jetmem {

// Connections that an address may have beside http.max_connections: those that are being closed for
// new ones.
inline constexpr unsigned kSpareConnections = 16;

// For any thread; the message is one printable line.
using WebLog = std::function<void(LogLevel, std::string)>;

struct WebOptions : HttpSettings {
  // The path of the Unix sockets, if any, where every local user may ask.
  std::string open_socket;
  WebLog log;
  Nanoseconds listen_retry = std::chrono::seconds(10);
};

}  // namespace jetmem
