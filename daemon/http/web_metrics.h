// SPDX-License-Identifier: Apache-2.0
// The web thread's own figures, those of jetmemd's process by their standard names, and the log of
// what it refuses: the first one at once, then at most once a minute for each kind, with the count.
// The figures are written at each scrape, by the web thread: when the loop hangs, they are what is
// still right.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/rate_limited_log.h"
#include "base/root/facts.h"
#include "daemon/http/client_key.h"
#include "metrics/histogram.h"
#include "metrics/sample.h"
#include "report/exposition/exposition.h"

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
  kHost,               // its Host header is not a name of this device (allows_host())
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

struct WebStats {
  unsigned connections = 0;
  std::uint64_t listen_failures = 0;
  std::uint64_t accept_failures = 0;
  bool history_stuck = false;
  std::uint64_t history_timeouts = 0;
  std::uint64_t buffered_bytes = 0;
  std::array<std::uint64_t, kRefusalNames.size()> refused{};

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

class WebMetrics {
 public:
  // Any path may be asked for, so only known ones get a series; the rest is "other".
  static constexpr auto kPaths = std::to_array<std::string_view>(
      {"/", "/api/v1/alerts", "/api/v1/boots", "/api/v1/cma", "/api/v1/doctor", "/api/v1/events",
       "/api/v1/fragmentation", "/api/v1/history", "/api/v1/now", "/api/v1/status", "/api/v1/texts",
       "/api/v1/thermal", "/api/v1/top", "/healthz", "/metrics", "/page", "/readyz", "other"});
  static constexpr std::array<unsigned, 9> kCodes{200, 304, 400, 401, 404, 405, 421, 500, 503};

  // Both must outlive this object.
  WebMetrics(const Clock& clock, Log& log);

  void count_request(std::string_view path, unsigned code);
  // How long it took to make an answer of /metrics.
  void count_scrape(Nanoseconds duration) { scrapes_.add(to_seconds(duration)); }
  void refused(Refusal why, const ClientKey& client);
  // `details`: what is wrong with the certificate, if known; printable.
  void handshake_failed(HandshakeFailure why, const ClientKey& client, std::string_view details);
  void auth_failed(AuthFailure why, const ClientKey& client);

  // What is not counted here is set before render().
  WebStats stats;

  // Appends the series. `page_age` is negative when there is no page yet.
  void render(Nanoseconds page_age, bool stalled, TextFormat format, std::string& out);

 private:
  void write(SampleWriter& out) const;
  std::optional<std::int64_t> boot_time();
  void notify(std::string_view kind, const ClientKey& client, std::string_view what);

  const Clock& clock_;
  Facts facts_ = Facts::of_this_machine();
  Nanoseconds boot_time_{0};
  RateLimitedLog log_;
  SampleTable table_;
  std::size_t section_;
  Page page_;
  DurationHistogram scrapes_;
  std::array<std::array<std::uint64_t, kCodes.size()>, kPaths.size()> requests_{};
};

// Every metric above, for the metrics reference.
std::span<const Descriptor> web_metrics();

}  // namespace jetmem
