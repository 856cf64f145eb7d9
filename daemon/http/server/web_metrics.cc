// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/web_metrics.h"

#include <algorithm>

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
};
constexpr const Descriptor& kPageAge = kMetrics[0];
constexpr const Descriptor& kStalled = kMetrics[1];
constexpr const Descriptor& kRequests = kMetrics[2];
constexpr const Descriptor& kConnections = kMetrics[3];
constexpr const Descriptor& kListenFailures = kMetrics[4];
constexpr const Descriptor& kAcceptFailures = kMetrics[5];
constexpr const Descriptor& kHistoryStuck = kMetrics[6];
constexpr const Descriptor& kHistoryTimeouts = kMetrics[7];

template <class List, class Value>
std::size_t index_of(const List& list, const Value& value) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
}

}  // namespace

void WebMetrics::count_request(std::string_view path, unsigned code) {
  const std::size_t p = std::min(index_of(kPaths, path), kPaths.size() - 1);
  const std::size_t c = index_of(kCodes, code);
  if (c < kCodes.size()) ++requests_[p][c];
}

void WebMetrics::write_http(SampleWriter& out) const {
  for (std::size_t p = 0; p < kPaths.size(); ++p) {
    for (std::size_t c = 0; c < kCodes.size(); ++c) {
      // A counter that begins at 0 shows its first increase; of failures only what happened.
      const bool is_usual = kCodes[c] == 200 && kPaths[p] != "other";
      if (requests_[p][c] == 0 && !is_usual) continue;
      out.put(kRequests, static_cast<double>(requests_[p][c]), kPaths[p], kCodes[c]);
    }
  }
  out.put(kConnections, connections_);
  out.put(kListenFailures, static_cast<double>(listen_failures_));
  out.put(kAcceptFailures, static_cast<double>(accept_failures_));
  out.put(kHistoryStuck, history_stuck_ ? 1 : 0);
  out.put(kHistoryTimeouts, static_cast<double>(history_timeouts_));
  if (access_ != nullptr) write_access(out, *access_);
}

void WebMetrics::render(Nanoseconds page_age, bool stalled, std::string& out) {
  {
    SampleWriter writer(table_, section_, Nanoseconds(0));
    if (page_age >= Nanoseconds(0)) writer.put(kPageAge, to_seconds(page_age));
    writer.put(kStalled, stalled ? 1 : 0);
    write_http(writer);
  }
  fill_page(table_, Nanoseconds(0), 0, page_);
  render_text(page_, out);
}

std::span<const Descriptor> web_metrics() { return kMetrics; }

}  // namespace jetmem
