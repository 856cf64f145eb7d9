// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pages.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/text/text.h"
#include "daemon/http/server/accept.h"

namespace jetmem {
namespace {

constexpr const char* kPlainText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

std::string no_such_page() {
  std::string out = "No such page. There are / /runbooks/ /metrics";
  for (const Api::Endpoint& each : Api::endpoints()) out.append(" ").append(each.path);
  return out + " /healthz /readyz\n";
}

// Everything comes from this device, and nothing is sent anywhere; no frames, no forms.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

// Whether the client's copy is current: a list of tags, compared weakly (RFC 9110, 13.1.2).
bool has_copy(std::string_view if_none_match, std::string_view etag) {
  etag.remove_prefix(2);  // W/
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

// Names the body; without one where the client has it already.
bool send_copy(const Request& request, Answer& answer, std::string etag) {
  answer.etag = std::move(etag);
  if (!has_copy(request.if_none_match, answer.etag)) return false;
  answer.code = 304;
  answer.body = std::make_shared<const std::string>();
  return true;
}

// Shorter texts gain nothing by gzip; longer ones would hold up the web thread.
constexpr std::size_t kLeastPacked = 1'024;
constexpr std::size_t kMostPacked = 1U << 20;

}  // namespace

Answer text_answer(unsigned code, std::string text) {
  Answer out;
  out.code = code;
  out.body = std::make_shared<const std::string>(std::move(text));
  out.add("Content-Type", "text/plain; charset=utf-8");
  out.add("Cache-Control", "no-store");
  out.add("X-Content-Type-Options", "nosniff");
  return out;
}

Answer Pages::answer(const Request& request) {
  Answer out = route(request);
  if (out.later) return out;
  if (has_room_ && !has_room_(request, out)) {
    out = text_answer(503,
                      "Slow readers hold as many answers as they may; ask again, or for a "
                      "shorter one.\n");
    out.add("Retry-After", "2");
  }
  out.add("Cache-Control", "no-store");
  out.add("X-Content-Type-Options", "nosniff");
  // No page of another site may embed it.
  out.add("Cross-Origin-Resource-Policy", "same-origin");
  const bool is_asset = request.path != "/" && find_asset(request.path) != nullptr;
  metrics_.count_request(is_asset ? "/page" : request.path, out.code);
  return out;
}

Answer Pages::route(const Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    Answer out = text_answer(405, "Only GET and HEAD are allowed; nothing can be changed here.\n");
    out.add("Allow", "GET, HEAD");
    return out;
  }
  if (request.path == "/metrics") return metrics_page(request);
  if (request.path == "/healthz") return health_page();
  if (request.path == "/readyz") return readiness_page();
  if (const Asset* const asset = find_asset(request.path)) return asset_page(*asset, request);
  if (const Api::Endpoint* const endpoint = Api::find(request.path)) {
    return api_page(*endpoint, request);
  }
  return text_answer(404, no_such_page());
}

// Files of the page. A client may cache them and revalidates each time.
Answer Pages::asset_page(const Asset& asset, const Request& request) {
  Answer out;
  out.add("Cache-Control", "no-cache");
  out.add("Vary", "Accept-Encoding");
  if (send_copy(request, out, asset.etag)) return out;
  out.add("Content-Type", asset.type);
  out.add("Content-Security-Policy", kPolicy);
  out.add("Referrer-Policy", "no-referrer");
  const bool packed = accepts_gzip(request.accept_encoding);
  if (packed) out.add("Content-Encoding", "gzip");
  std::optional<std::string> text =
      packed ? std::string(asset.gzip) : gunzip(asset.gzip, asset.size);
  if (!text) return text_answer(500, "out of memory for this page\n");
  out.body = std::make_shared<const std::string>(std::move(*text));
  return out;
}

Nanoseconds Pages::age(const Page& page) const {
  const Nanoseconds now = clock_.boot();
  if (page.taken < Nanoseconds(0)) return now - started_;
  // The page may be younger than `now`.
  return std::max(Nanoseconds(0), now - page.taken);
}

Answer Pages::metrics_page(const Request& request) {
  const Nanoseconds begin = clock_.mono();
  const std::shared_ptr<const Page> page = buffer_.current();
  const bool is_filled = page->taken >= Nanoseconds(0);
  const Nanoseconds age = this->age(*page);
  const bool stalled = age > readiness_.timeout();

  // This request is not counted yet: the page shows those before it.
  tail_.clear();
  metrics_.stats.history_stuck = api_.worker().is_stuck();
  metrics_.stats.history_timeouts = api_.timeouts();
  const bool is_open = prefers_open_metrics(request.accept);
  const TextFormat format = is_open ? TextFormat::kOpenMetrics : TextFormat::kPlain;
  metrics_.render(is_filled ? age : Nanoseconds(-1), stalled, format, tail_);
  Answer out;
  out.add("Content-Type", is_open ? kOpenMetrics : kPlainText);
  out.add("Vary", "Accept, Accept-Encoding");
  std::string& text = unread(plain_);
  if (!stalled) render_text(*page, format, text);
  text.append(tail_);
  if (is_open) text.append("# EOF\n");
  out.body = plain_;
  if (accepts_gzip(request.accept_encoding) && gzip_.compress(text, unread(compressed_))) {
    out.add("Content-Encoding", "gzip");
    out.body = compressed_;
  }
  metrics_.count_scrape(clock_.mono() - begin);
  return out;
}

// Buffers are used again, but one that a slow client still reads is left alone.
std::string& Pages::unread(std::shared_ptr<std::string>& buffer) {
  if (buffer == nullptr || buffer.use_count() > 1) buffer = std::make_shared<std::string>();
  buffer->clear();
  return *buffer;
}

std::string Pages::sampling_problem() {
  const std::shared_ptr<const Page> page = buffer_.newest();
  const Nanoseconds age = this->age(*page);
  if (age > readiness_.timeout()) {
    return "sampling has stopped: last page " + whole_seconds(age) + " ago, limit " +
           whole_seconds(readiness_.timeout());
  }
  return page->taken < Nanoseconds(0) ? "nothing has been read yet" : std::string();
}

Answer Pages::api_page(const Api::Endpoint& endpoint, const Request& request) {
  ApiAnswer answer = api_.answer(endpoint, request.parameters, sampling_problem(), request.asker);
  Answer out;
  out.later = answer.later;
  if (out.later) return out;
  out.code = answer.code;
  out.body = std::move(answer.body);
  out.add("Vary", "Accept-Encoding");
  if (out.code == 200) {
    std::string etag = "W/\"0123456789abcdef\"";
    write_hex(std::hash<std::string>()(*out.body), std::span(etag).subspan(3, 16));
    if (send_copy(request, out, std::move(etag))) return out;
  }
  if (out.code == 503) out.add("Retry-After", "1");
  out.add("Content-Type", "application/json");
  if (out.body->size() < kLeastPacked || out.body->size() > kMostPacked) return out;
  auto packed = std::make_shared<std::string>();
  if (!accepts_gzip(request.accept_encoding) || !gzip_.compress(*out.body, *packed)) return out;
  out.add("Content-Encoding", "gzip");
  out.body = std::move(packed);
  return out;
}

std::string Pages::loop_problem() const {
  const Nanoseconds beat = readiness_.last_beat();
  if (beat < Nanoseconds(0)) return "the daemon's loop has not started yet";
  const Nanoseconds age = clock_.boot() - beat;
  if (age <= readiness_.timeout()) return {};
  return "the daemon's loop is stuck: last sign of life " + whole_seconds(age) + " ago, limit " +
         whole_seconds(readiness_.timeout());
}

Answer Pages::health_page() {
  const std::string problem = loop_problem();
  return problem.empty() ? text_answer(200, "ok\n") : text_answer(503, problem + "\n");
}

Answer Pages::readiness_page() {
  const std::string problem = loop_problem();
  if (!problem.empty()) return text_answer(503, problem + "\n");
  const Readiness::Sources sources = readiness_.sources();
  if (!sources.known) return text_answer(503, "no source has been read yet\n");
  if (sources.all > 0 && sources.good == 0) {
    return text_answer(503, "none of " + std::to_string(sources.all) +
                                " cheap sources is ok and fresh; see jetmem_source_state and "
                                "journalctl -u jetmemd\n");
  }
  return text_answer(200, "ok\n");
}

}  // namespace jetmem
