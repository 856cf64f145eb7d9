// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/web_metrics.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process/descriptor_limit.h"
#include "daemon/children/process_usage.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    gauge("jetmem_samples_age_seconds",
          "Age of the samples on this page. It follows the sampling interval; when it grows, the "
          "daemon's loop is late or stuck."),
    gauge("jetmem_sampling_stalled",
          "1 when sampling has stopped for so long that its series are omitted from this page, "
          "because they are no longer true. The daemon has a problem, not necessarily the memory: "
          "see journalctl -u jetmemd."),
    counter("jetmem_http_requests_total",
            "HTTP requests answered, by path and status code. All paths that do not exist count as "
            "other.",
            {"path", "code"}, WebMetrics::kPaths.size() * WebMetrics::kCodes.size()),
    gauge("jetmem_http_connections",
          "HTTP connections open now. At http.max_connections of an address an idle one is closed "
          "for each new one."),
    counter(
        "jetmem_http_listen_failures_total",
        "Failed attempts to listen on a configured address; each is repeated until it succeeds."),
    counter("jetmem_http_accept_failures_total",
            "Connections not accepted, or closed unanswered, because file descriptors or memory "
            "ran out."),
    gauge("jetmem_http_history_stuck",
          "1 while a query of the history has been running for more than 5 seconds. No other is "
          "started: /api/v1/history, events and doctor answer 503. The disk may hang; see "
          "journalctl -k."),
    counter("jetmem_http_history_timeouts_total",
            "Queries of the history that were not answered in time, or not started because another "
            "one was still running. The disk is slow or hangs."),
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
    // Prometheus' documentation fixes names and texts of these.
    counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds."),
    gauge("process_resident_memory_bytes", "Resident memory size in bytes."),
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes."),
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
    gauge("process_open_fds", "Number of open file descriptors."),
    gauge("process_max_fds", "Maximum number of open file descriptors."),
    histogram("jetmem_http_scrape_duration_seconds_*",
              "Time that jetmemd needed to make an answer of /metrics, compression included; not "
              "to send it. Excludes the current answer.",
              {"le"}, DurationHistogram::kSeries),
};
constexpr const Descriptor& kPageAge = kMetrics[0];
constexpr const Descriptor& kStalled = kMetrics[1];
constexpr const Descriptor& kRequests = kMetrics[2];
constexpr const Descriptor& kConnections = kMetrics[3];
constexpr const Descriptor& kListenFailures = kMetrics[4];
constexpr const Descriptor& kAcceptFailures = kMetrics[5];
constexpr const Descriptor& kHistoryStuck = kMetrics[6];
constexpr const Descriptor& kHistoryTimeouts = kMetrics[7];
constexpr const Descriptor& kRefused = kMetrics[8];
constexpr const Descriptor& kBuffered = kMetrics[9];
constexpr const Descriptor& kConfigOk = kMetrics[10];
constexpr const Descriptor& kLoads = kMetrics[11];
constexpr const Descriptor& kExpiry = kMetrics[12];
constexpr const Descriptor& kHandshakeFailures = kMetrics[13];
constexpr const Descriptor& kAuthFailures = kMetrics[14];
constexpr const Descriptor& kPasswordChecks = kMetrics[15];
constexpr const Descriptor& kPasswordSeconds = kMetrics[16];
constexpr const Descriptor& kProcessCpu = kMetrics[17];
constexpr const Descriptor& kProcessResident = kMetrics[18];
constexpr const Descriptor& kProcessVirtual = kMetrics[19];
constexpr const Descriptor& kProcessStart = kMetrics[20];
constexpr const Descriptor& kProcessOpenFds = kMetrics[21];
constexpr const Descriptor& kProcessMaxFds = kMetrics[22];
constexpr const Descriptor& kScrapeSeconds = kMetrics[23];

constexpr std::array<std::string_view, kRefusalNames.size()> kWhat{
    "opened more than http.max_connections_per_client connections; an idle one of it or the new "
    "one was closed",
    "was refused a connection, as all of http.max_connections are open and none is idle",
    "was idle while all of http.max_connections were open, and was closed for a new connection",
    "did not complete its request within http.request_timeout, and was cut",
    "read its answer too slowly, and was cut",
    "got 503: unread answers fill the memory for them",
    "got 503: too many passwords wait to be checked",
    "got 503: too many questions wait for the history",
    "got 421: its Host header is not a name of this device, as when a web page rebinds its DNS "
    "name here; if it is a name of this device, add it to http.hosts",
    "sent a request that is malformed, ambiguous, too large or has a body (docs/access.md): 400, "
    "414 or 431",
};

template <class E>
std::size_t index(E value) {
  return static_cast<std::size_t>(value);
}

template <class Counts, class Names>
void put_all(SampleWriter& out, const Descriptor& metric, const Counts& counts,
             const Names& names) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.put(metric, counts[i], names[i]);
  }
}

// Here and nowhere else: beside another program's own, as in node_exporter's textfile, they clash.
void write_own_process(SampleWriter& out, const Facts& facts) {
  if (const auto usage = read_process_usage(facts, ::getpid())) {
    out.put(kProcessCpu, usage->cpu_seconds);
    out.put(kProcessResident, usage->resident_bytes);
    out.put(kProcessVirtual, usage->virtual_bytes);
    out.put(kProcessStart, usage->start_time);
    out.put(kProcessOpenFds, usage->open_fds);
  }
  out.put(kProcessMaxFds, descriptor_limit().soft);
}

template <class List, class Value>
std::size_t index_of(const List& list, const Value& value) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
}

}  // namespace

WebMetrics::WebMetrics(const Clock& clock, Log& log)
    : clock_(clock),
      log_(log, {.window = std::chrono::minutes(1), .announces = false}),
      section_(table_.add_section("web")) {}

// When the machine booted, by the clock as it is now; kept while the clock is only slewed, or that
// would look like a restart.
std::optional<std::int64_t> WebMetrics::boot_time() {
  const Nanoseconds wall = clock_.wall();
  if (wall < kFirstPlausibleTime) return std::nullopt;
  const Nanoseconds now = wall - clock_.boot();
  constexpr Nanoseconds kSet = std::chrono::seconds(2);
  if (now > boot_time_ + kSet || now < boot_time_ - kSet) boot_time_ = now;
  return boot_time_ / std::chrono::seconds(1);
}

void WebMetrics::count_request(std::string_view path, unsigned code) {
  const std::size_t p = std::min(index_of(kPaths, path), kPaths.size() - 1);
  const std::size_t c = index_of(kCodes, code);
  if (c < kCodes.size()) ++requests_[p][c];
}

void WebMetrics::refused(Refusal why, const ClientKey& client) {
  ++stats.refused[index(why)];
  notify(kRefusalNames[index(why)], client, kWhat[index(why)]);
}

void WebMetrics::handshake_failed(HandshakeFailure why, const ClientKey& client,
                                  std::string_view details) {
  ++stats.handshake_failures[index(why)];
  // A client that gives up, or a port scan, is not worth a log line.
  if (why != HandshakeFailure::kClientCertificate) return;
  std::string what = "was refused for its client certificate";
  if (!details.empty()) what.append(": ").append(details);
  notify("client_certificate", client, what);
}

void WebMetrics::auth_failed(AuthFailure why, const ClientKey& client) {
  ++stats.auth_failures[index(why)];
  if (why != AuthFailure::kWrong) return;
  notify("password", client, "gave a wrong user or password");
}

void WebMetrics::notify(std::string_view kind, const ClientKey& client, std::string_view what) {
  std::string message = "http: " + client.text() + " ";
  message.append(what);
  log_.write(clock_.mono(), {LogLevel::kWarning, std::move(message), {}}, {.per_key = 1}, kind);
}

void WebMetrics::write(SampleWriter& out) const {
  for (std::size_t p = 0; p < kPaths.size(); ++p) {
    for (std::size_t c = 0; c < kCodes.size(); ++c) {
      // A counter that begins at 0 shows its first increase; of failures only what happened.
      const bool is_usual = kCodes[c] == 200 && kPaths[p] != "other";
      if (requests_[p][c] == 0 && !is_usual) continue;
      out.put(kRequests, requests_[p][c], kPaths[p], kCodes[c]);
    }
  }
  scrapes_.write(out, kScrapeSeconds);
  out.put(kConnections, stats.connections);
  out.put(kListenFailures, stats.listen_failures);
  out.put(kAcceptFailures, stats.accept_failures);
  out.put(kHistoryStuck, stats.history_stuck ? 1 : 0);
  out.put(kHistoryTimeouts, stats.history_timeouts);
  put_all(out, kRefused, stats.refused, kRefusalNames);
  out.put(kBuffered, stats.buffered_bytes);
  if (!stats.has_config) return;
  out.put(kConfigOk, stats.config_good ? 1 : 0);
  out.put(kLoads, stats.loads_ok, "ok");
  out.put(kLoads, stats.loads_failed, "failed");
  if (stats.has_tls) {
    out.put(kExpiry, stats.certificate_expiry);
    put_all(out, kHandshakeFailures, stats.handshake_failures, kHandshakeFailureNames);
  }
  if (!stats.has_users) return;
  put_all(out, kAuthFailures, stats.auth_failures, kAuthFailureNames);
  out.put(kPasswordChecks, stats.passwords_right, "valid");
  out.put(kPasswordChecks, stats.passwords_wrong, "invalid");
  out.put(kPasswordSeconds, stats.password_seconds);
}

void WebMetrics::render(Nanoseconds page_age, bool stalled, TextFormat format, std::string& out) {
  {
    SampleWriter writer(table_, section_, Nanoseconds(0));
    if (page_age >= Nanoseconds(0)) writer.put(kPageAge, to_seconds(page_age));
    writer.put(kStalled, stalled ? 1 : 0);
    facts_.boot_time = boot_time();
    write_own_process(writer, facts_);
    write(writer);
  }
  fill_page(table_, Nanoseconds(0), 0, page_);
  render_text(page_, format, out);
}

std::span<const Descriptor> web_metrics() { return kMetrics; }

}  // namespace jetmem
