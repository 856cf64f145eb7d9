// SPDX-License-Identifier: Apache-2.0
// Options of the web thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "config/listen_address.h"

namespace jetmem {

// Connections that an address may have beside http.max_connections: those that are being closed for
// new ones.
inline constexpr unsigned kSpareConnections = 16;

// For any thread; the message is one printable line.
using WebLog = std::function<void(LogLevel, std::string)>;

struct WebOptions {
  std::vector<ListenAddress> listen;
  // Of them the Unix sockets at this path, if any: every local user may ask there.
  std::string open_socket;
  // Of TLS and passwords (config/web/web_config.h), for TCP addresses; empty: neither.
  std::string web_config;
  // What this device is called, beside localhost and its addresses
  // (daemon/http/access/host_guard.h).
  std::vector<std::string> hosts{};
  WebLog log;
  // For each address of its own: who fills the TCP port does not lock out the Unix socket.
  unsigned max_connections = 64;
  // Of one client over TCP (daemon/http/client_key.h), likewise.
  unsigned max_connections_per_client = 8;
  std::chrono::milliseconds idle_timeout{10'000};  // libmicrohttpd counts whole seconds
  // From a connection's or a request's beginning to the end of its headers, TLS included.
  std::chrono::milliseconds request_timeout{10'000};
  Nanoseconds listen_retry = std::chrono::seconds(10);
};

}  // namespace jetmem
