// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/access_stats.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    counter(
        "jetmem_http_refused_total",
        "Connections and requests refused to protect the device. client_connections: an address "
        "opened more than http.max_connections_per_client, and its oldest idle connection or, "
        "without one, the new one was closed; connections: closed at once, as http.max_connections "
        "were open and none was idle; idle_evicted: closed for a new one then, being idle; "
        "slow_request, slow_reader: sent its request or read its answer too slowly; "
        "response_memory: unread answers fill the memory for them; password_queue: too many "
        "passwords wait to be checked; history_queue: too many questions wait for the history; "
        "host: the Host header is not a name of this device (http.hosts); bad_request: malformed, "
        "ambiguous, too large or with a body (400, 414, 431).",
        {"reason"}, kRefusalNames.size()),
    gauge("jetmem_http_response_buffer_bytes",
          "Bytes of answers that clients have not read yet. An answer that several clients read "
          "counts once."),
    gauge("jetmem_http_web_config_ok",
          "1 while the web configuration in force is that of its files. 0: the files have errors, "
          "or protect less than before without a reload; the previous configuration stays in "
          "force, or TCP ports stay closed if there is none. The log has the reason."),
    counter("jetmem_http_web_config_loads_total",
            "Reads of the web configuration and its certificates, by result (ok, failed).",
            {"result"}, 2),
    gauge("jetmem_http_certificate_expiry_timestamp_seconds",
          "When the served certificate expires, in seconds since 1970."),
    counter("jetmem_http_tls_handshake_failures_total",
            "Failed TLS handshakes. client_certificate: the client's certificate is missing or not "
            "accepted; timeout: not complete within http.request_timeout; other: the client "
            "disconnected, does not trust the device's certificate, or offers no accepted version "
            "of TLS.",
            {"reason"}, kHandshakeFailureNames.size()),
    counter("jetmem_http_auth_failures_total",
            "Requests refused with 401. missing: no user and password, as in a browser's first "
            "request; invalid: wrong user or password.",
            {"reason"}, kAuthFailureNames.size()),
    counter("jetmem_http_password_checks_total",
            "Passwords checked against their bcrypt hash, by result (valid, invalid). Results are "
            "remembered, so a steady client adds one check.",
            {"result"}, 2),
    counter("jetmem_http_password_check_seconds_total",
            "CPU time spent on checking passwords. After a wrong one the next check waits three "
            "times as long as that check took."),
};
constexpr const Descriptor& kRefused = kMetrics[0];
constexpr const Descriptor& kBuffered = kMetrics[1];
constexpr const Descriptor& kConfigOk = kMetrics[2];
constexpr const Descriptor& kLoads = kMetrics[3];
constexpr const Descriptor& kExpiry = kMetrics[4];
constexpr const Descriptor& kHandshakeFailures = kMetrics[5];
constexpr const Descriptor& kAuthFailures = kMetrics[6];
constexpr const Descriptor& kPasswordChecks = kMetrics[7];
constexpr const Descriptor& kPasswordSeconds = kMetrics[8];

template <class Counts, class Names>
void put_all(SampleWriter& out, const Descriptor& metric, const Counts& counts,
             const Names& names) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.put(metric, static_cast<double>(counts[i]), names[i]);
  }
}

}  // namespace

void write_access(SampleWriter& out, const AccessStats& stats) {
  put_all(out, kRefused, stats.refused, kRefusalNames);
  out.put(kBuffered, static_cast<double>(stats.buffered_bytes));
  if (!stats.has_config) return;
  out.put(kConfigOk, stats.config_good ? 1 : 0);
  out.put(kLoads, static_cast<double>(stats.loads_ok), "ok");
  out.put(kLoads, static_cast<double>(stats.loads_failed), "failed");
  if (stats.has_tls) {
    out.put(kExpiry, stats.certificate_expiry);
    put_all(out, kHandshakeFailures, stats.handshake_failures, kHandshakeFailureNames);
  }
  if (!stats.has_users) return;
  put_all(out, kAuthFailures, stats.auth_failures, kAuthFailureNames);
  out.put(kPasswordChecks, static_cast<double>(stats.passwords_right), "valid");
  out.put(kPasswordChecks, static_cast<double>(stats.passwords_wrong), "invalid");
  out.put(kPasswordSeconds, stats.password_seconds);
}

std::span<const Descriptor> access_metrics() { return kMetrics; }

}  // namespace jetmem
