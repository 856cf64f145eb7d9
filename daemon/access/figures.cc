#include "daemon/access/figures.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_http_refused_total",
               .type = MetricType::kCounter,
               .help =
                   "Clients that were cut or not served, to protect the device. "
                   "client_connections: more than http.max_connections_per_client; "
                   "slow_request, slow_reader: asked or read too slowly; made_room: idle while "
                   "others waited; answer_memory: slow readers hold as much as they may; "
                   "password_queue: too many passwords to check; host: asked for a name that is "
                   "not this device's.",
               .labels = {"reason"},
               .max_series = kRefusalNames.size()},
    Descriptor{.name = "jetmem_http_held_bytes",
               .help = "Bytes of answers that clients have not taken yet, each answer counted "
                       "once."},
    Descriptor{.name = "jetmem_http_paused_seconds_total",
               .type = MetricType::kCounter,
               .help = "For how long the web server has rested because it had used its share of a "
                       "processor, half of one. It grows while somebody floods the port."},
    Descriptor{.name = "jetmem_http_web_config_ok",
               .help = "1 when the web configuration in force is what its files say. 0: they have "
                       "mistakes, or ask for less than before without a reload; the one before is "
                       "kept, or else TCP ports stay closed. The log says why."},
    Descriptor{.name = "jetmem_http_web_config_loads_total",
               .type = MetricType::kCounter,
               .help = "How often the web configuration and its certificates were read, by result "
                       "(ok, failed).",
               .labels = {"result"},
               .max_series = 2},
    Descriptor{.name = "jetmem_http_certificate_expiry_timestamp_seconds",
               .help = "When the certificate that is served expires, in seconds since 1970."},
    Descriptor{.name = "jetmem_http_tls_handshake_failures_total",
               .type = MetricType::kCounter,
               .help = "TLS handshakes that came to nothing. client_certificate: the client's was "
                       "missing or not accepted; timeout: not done within http.request_timeout; "
                       "other: the client left, does not trust us or speaks no TLS we accept.",
               .labels = {"reason"},
               .max_series = kHandshakeFailureNames.size()},
    Descriptor{.name = "jetmem_http_auth_failures_total",
               .type = MetricType::kCounter,
               .help = "Requests refused with 401. missing: without user and password, as a "
                       "browser's first; wrong: with wrong ones.",
               .labels = {"reason"},
               .max_series = kAuthFailureNames.size()},
    Descriptor{.name = "jetmem_http_password_checks_total",
               .type = MetricType::kCounter,
               .help = "Passwords held against their bcrypt hash, by result (right, wrong). One "
                       "that was checked is remembered.",
               .labels = {"result"},
               .max_series = 2},
    Descriptor{.name = "jetmem_http_password_check_seconds_total",
               .type = MetricType::kCounter,
               .help = "How long checking passwords has taken. After a wrong one the next check "
                       "waits three times as long as it took."},
};
constexpr const Descriptor& kRefused = kMetrics[0];
constexpr const Descriptor& kHeld = kMetrics[1];
constexpr const Descriptor& kPaused = kMetrics[2];
constexpr const Descriptor& kConfigOk = kMetrics[3];
constexpr const Descriptor& kLoads = kMetrics[4];
constexpr const Descriptor& kExpiry = kMetrics[5];
constexpr const Descriptor& kHandshakeFailures = kMetrics[6];
constexpr const Descriptor& kAuthFailures = kMetrics[7];
constexpr const Descriptor& kPasswordChecks = kMetrics[8];
constexpr const Descriptor& kPasswordSeconds = kMetrics[9];

template <class Counts, class Names>
void put_all(SampleWriter& out, const Descriptor& metric, const Counts& counts,
             const Names& names) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.put(metric, static_cast<double>(counts[i]), names[i]);
  }
}

}  // namespace

void write_access(SampleWriter& out, const AccessFigures& figures) {
  put_all(out, kRefused, figures.refused, kRefusalNames);
  out.put(kHeld, static_cast<double>(figures.held_bytes));
  out.put(kPaused, figures.paused_seconds);
  if (!figures.has_config) return;
  out.put(kConfigOk, figures.config_good ? 1 : 0);
  out.put(kLoads, static_cast<double>(figures.loads_ok), "ok");
  out.put(kLoads, static_cast<double>(figures.loads_failed), "failed");
  if (figures.has_tls) {
    out.put(kExpiry, figures.certificate_expiry);
    put_all(out, kHandshakeFailures, figures.handshake_failures, kHandshakeFailureNames);
  }
  if (!figures.has_users) return;
  put_all(out, kAuthFailures, figures.auth_failures, kAuthFailureNames);
  out.put(kPasswordChecks, static_cast<double>(figures.passwords_right), "right");
  out.put(kPasswordChecks, static_cast<double>(figures.passwords_wrong), "wrong");
  out.put(kPasswordSeconds, figures.password_seconds);
}

std::span<const Descriptor> access_metrics() { return kMetrics; }

}  // namespace jetmem
