#include "daemon/web_metrics.h"

#include <algorithm>

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_page_age_seconds",
               .help = "How long ago the samples on this page were taken. It follows the sampling "
                       "interval; when it grows, the daemon's loop is late or stuck."},
    Descriptor{.name = "jetmem_sampling_stalled",
               .help = "1 when sampling has stopped for so long that its series are left out of "
                       "this page: they would no longer be true. Look at the daemon, not at the "
                       "memory."},
    Descriptor{.name = "jetmem_http_requests_total",
               .type = MetricType::kCounter,
               .help = "HTTP requests answered, by path and status code. Paths that do not exist "
                       "are counted together as other.",
               .labels = {"path", "code"},
               .max_series = WebMetrics::kPaths.size() * WebMetrics::kCodes.size()},
    Descriptor{.name = "jetmem_http_connections",
               .help = "HTTP connections open now. At the configured limit new clients have to "
                       "wait."},
    Descriptor{.name = "jetmem_http_listen_failures_total",
               .type = MetricType::kCounter,
               .help = "Failed attempts to listen on a configured address. It is tried again "
                       "until it succeeds."},
    Descriptor{.name = "jetmem_http_accept_failures_total",
               .type = MetricType::kCounter,
               .help = "Connections that could not be taken, or were closed unanswered, for want "
                       "of file descriptors or memory."},
    Descriptor{.name = "jetmem_http_history_stuck",
               .help = "1 while a question to the history has gone unanswered for more than 5 "
                       "seconds, so that no other is asked: /api/v1/history, events and doctor "
                       "answer 503. Its disk may hang; look at the kernel's log."},
    Descriptor{.name = "jetmem_http_history_timeouts_total",
               .type = MetricType::kCounter,
               .help = "Questions to the history that were not answered in time, or not asked as "
                       "another one had not been answered yet. A slow or hanging disk."},
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

void write_page_age(SampleWriter& out, Nanoseconds page_age, bool stalled) {
  if (page_age >= Nanoseconds(0)) out.put(kPageAge, to_seconds(page_age));
  out.put(kStalled, stalled ? 1 : 0);
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

void WebMetrics::count_instead(std::string_view path, unsigned counted, unsigned code) {
  const std::size_t p = std::min(index_of(kPaths, path), kPaths.size() - 1);
  const std::size_t c = index_of(kCodes, counted);
  if (c < kCodes.size() && requests_[p][c] > 0) --requests_[p][c];
  count_request(path, code);
}

void WebMetrics::render(Nanoseconds page_age, bool stalled, std::string& out) {
  {
    SampleWriter writer(table_, section_, Nanoseconds(0));
    write_page_age(writer, page_age, stalled);
    write_http(writer);
  }
  fill_page(table_, Nanoseconds(0), 0, page_);
  render_text(page_, out);
}

void WebMetrics::render_http(std::string& out) {
  if (!http_) http_ = std::make_unique<Http>();
  {
    SampleWriter writer(http_->table, http_->section, Nanoseconds(0));
    write_http(writer);
  }
  fill_page(http_->table, Nanoseconds(0), 0, http_->page);
  render_text(http_->page, out);
}

std::span<const Descriptor> web_metrics() { return kMetrics; }

}  // namespace jetmem
