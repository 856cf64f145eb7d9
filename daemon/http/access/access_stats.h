// SPDX-License-Identifier: Apache-2.0
// What the web server counts about access: refusals, TLS, passwords. The web thread's own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "metrics/sample.h"

namespace jetmem {

// Why a connection was closed or a request not served.
enum class Refusal : std::uint8_t {
  kClientConnections,  // its client has http.max_connections_per_client: an idle one or it goes
  kConnections,        // all connections were taken, and none was idle
  kIdleEvicted,        // it was idle, and all connections were taken
  kSlowRequest,        // its request was not complete within http.request_timeout
  kSlowReader,         // it did not read its answer in time
  kResponseMemory,     // unread answers fill the memory for them
  kPasswordQueue,      // too many passwords wait to be checked
  kHistoryQueue,       // too many questions wait for the history
  kHost,               // its Host header is not a name of this device (HostGuard)
  kBadRequest,         // not HTTP/1.1, with a body, ambiguous or too large: 400, 414, 431 or closed
};
inline constexpr std::array<std::string_view, 10> kRefusalNames{
    "client_connections", "connections",    "idle_evicted",  "slow_request", "slow_reader",
    "response_memory",    "password_queue", "history_queue", "host",         "bad_request"};

enum class HandshakeFailure : std::uint8_t { kClientCertificate, kTimeout, kOther };
inline constexpr std::array<std::string_view, 3> kHandshakeFailureNames{"client_certificate",
                                                                        "timeout", "other"};

enum class AuthFailure : std::uint8_t { kMissing, kWrong };
inline constexpr std::array<std::string_view, 2> kAuthFailureNames{"missing", "invalid"};

struct AccessStats {
  std::array<std::uint64_t, kRefusalNames.size()> refused{};
  std::uint64_t buffered_bytes = 0;

  // Only if a web configuration is named.
  bool has_config = false;
  bool config_good = false;  // the rules in force are those of the files
  std::uint64_t loads_ok = 0;
  std::uint64_t loads_failed = 0;
  bool has_tls = false;
  double certificate_expiry = 0;
  std::array<std::uint64_t, kHandshakeFailureNames.size()> handshake_failures{};
  bool has_users = false;
  std::array<std::uint64_t, kAuthFailureNames.size()> auth_failures{};
  std::uint64_t passwords_right = 0;
  std::uint64_t passwords_wrong = 0;
  double password_seconds = 0;
};

void write_access(SampleWriter& out, const AccessStats& stats);
// Every metric above, for the metrics reference.
std::span<const Descriptor> access_metrics();

}  // namespace jetmem
