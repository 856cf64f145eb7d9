// What the web server counts of who may ask it, and of whom it cut short. The web thread's own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/sample.h"

namespace jetmem {

// Why a client was cut or not served, though it asked for nothing wrong.
enum class Refusal : std::uint8_t {
  kClientConnections,  // it has http.max_connections_per_client open
  kSlowRequest,        // its request was not complete within http.request_timeout
  kSlowReader,         // it did not take its answer in time
  kMadeRoom,           // all connections were taken, and this one did nothing
  kAnswerMemory,       // slow readers hold as much as they may
  kPasswordQueue,      // too many passwords wait to be checked
  kHost,               // it asked for a name that is not this device's (HostGuard)
};
inline constexpr std::array<std::string_view, 7> kRefusalNames{
    "client_connections", "slow_request",   "slow_reader", "made_room",
    "answer_memory",      "password_queue", "host"};

enum class HandshakeFailure : std::uint8_t { kClientCertificate, kTimeout, kOther };
inline constexpr std::array<std::string_view, 3> kHandshakeFailureNames{"client_certificate",
                                                                        "timeout", "other"};

enum class AuthFailure : std::uint8_t { kMissing, kWrong };
inline constexpr std::array<std::string_view, 2> kAuthFailureNames{"missing", "wrong"};

struct AccessFigures {
  std::array<std::uint64_t, kRefusalNames.size()> refused{};
  std::uint64_t held_bytes = 0;
  double paused_seconds = 0;

  // Only where a web configuration is named.
  bool has_config = false;
  bool config_good = false;  // what is in force is what the files say
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

void write_access(SampleWriter& out, const AccessFigures& figures);
// Every metric above, for the metrics reference.
std::span<const Descriptor> access_metrics();

}  // namespace jetmem
