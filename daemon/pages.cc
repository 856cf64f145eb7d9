#include "daemon/pages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/version.h"
#include "daemon/api/alerts_trouble.h"
#include "daemon/content_encoding.h"

namespace jetmem {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";
constexpr const char* kExposition = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kHtml = "text/html; charset=utf-8";

Answer text_answer(unsigned code, std::string text) {
  Answer out;
  out.code = code;
  out.body = std::make_shared<const std::string>(std::move(text));
  out.add("Content-Type", kPlainText);
  return out;
}

std::string item(std::string_view path, std::string_view what) {
  std::string out = "<li><a href=\"";
  out.append(path).append("\">").append(path).append("</a>: ").append(what).append("</li>\n");
  return out;
}

std::string landing_text() {
  std::string out = std::string(
                        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
                        "<title>jetmem</title></head>\n<body>\n<h1>jetmem ") +
                    kVersion + "</h1>\n<p>Watches the memory of this device.</p>\n<ul>\n";
  out += item("/metrics", "everything measured, for Prometheus");
  out += item("/api/v1/alerts", "what the rules found, as JSON");
  for (const Api::Endpoint& each : Api::endpoints()) {
    out += item(each.path, std::string(each.what) + ", as JSON");
  }
  out += item("/healthz", "whether the daemon is alive");
  out += item("/readyz", "whether it can read its sources");
  return out + "</ul>\n</body>\n</html>\n";
}

std::string no_such_page() {
  std::string out = "No such page. There are / /metrics /api/v1/alerts";
  for (const Api::Endpoint& each : Api::endpoints()) out.append(" ").append(each.path);
  return out + " /healthz /readyz\n";
}

Answer landing_page() {
  static const auto kBody = std::make_shared<const std::string>(landing_text());
  Answer out;
  out.body = kBody;
  out.add("Content-Type", kHtml);
  // Nothing but this text: no script, no style, no form, no frame around it.
  out.add("Content-Security-Policy",
          "default-src 'none'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'");
  return out;
}

}  // namespace

void Answer::add(const char* name, const char* value) {
  for (Header& header : headers) {
    if (header.name != nullptr) continue;
    header = {name, value};
    return;
  }
}

Answer Pages::answer(const Request& request) {
  Answer out = route(request);
  if (out.later) return out;
  out.add("Cache-Control", "no-store");
  out.add("X-Content-Type-Options", "nosniff");
  // What follows may be a body that nobody will read: it must not be taken for a request.
  if (request.has_body) out.close = true;
  if (out.close) out.add("Connection", "close");
  metrics_.count_request(request.path, out.code);
  return out;
}

Answer Pages::route(const Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    Answer out = text_answer(405, "Only GET and HEAD: nothing can be changed here.\n");
    out.add("Allow", "GET, HEAD");
    return out;
  }
  if (request.has_body) return text_answer(413, "Requests have no body here.\n");
  if (request.path == "/metrics") return metrics_page(request);
  if (request.path == "/api/v1/alerts") return alerts_page();
  if (request.path == "/healthz") return health_page();
  if (request.path == "/readyz") return readiness_page();
  if (request.path == "/") return landing_page();
  if (const Api::Endpoint* const endpoint = Api::find(request.path)) {
    return api_page(*endpoint, request);
  }
  return text_answer(404, no_such_page());
}

Nanoseconds Pages::age(const Page& page) const {
  const Nanoseconds now = clock_.boot();
  if (page.taken < Nanoseconds(0)) return now - started_;
  // The page may be a moment younger than our look at the clock.
  return std::max(Nanoseconds(0), now - page.taken);
}

Answer Pages::metrics_page(const Request& request) {
  const Page& page = box_.latest();
  const bool is_filled = page.taken >= Nanoseconds(0);
  const Nanoseconds age = this->age(page);
  const bool stalled = age > readiness_.patience();
  const Page* served = is_filled && !stalled ? &page : nullptr;

  // This request is on its way and not counted yet: the page shows those before it.
  tail_.clear();
  metrics_.set_history(api_.desk().is_stuck(), api_.timeouts());
  metrics_.render(is_filled ? age : Nanoseconds(-1), stalled, tail_);
  Answer out;
  out.add("Content-Type", kExposition);
  out.add("Vary", "Accept-Encoding");
  if (prefers_gzip(request.accept_encoding)) {
    out.body = body_.gzip(served, tail_);
    if (out.body) out.add("Content-Encoding", "gzip");
  }
  if (!out.body) out.body = body_.plain(served, tail_);
  return out;
}

std::string Pages::sampling_trouble() {
  const Page& page = box_.latest();
  const Nanoseconds age = this->age(page);
  if (age > readiness_.patience()) {
    return "sampling has stopped: last page " + whole_seconds(age) + " ago, limit " +
           whole_seconds(readiness_.patience());
  }
  return page.taken < Nanoseconds(0) ? "nothing has been read yet" : std::string();
}

Answer Pages::api_page(const Api::Endpoint& endpoint, const Request& request) {
  ApiAnswer answer =
      api_.answer(endpoint, request.parameters, sampling_trouble(), request.patience);
  Answer out;
  out.later = answer.later;
  out.code = answer.code;
  out.body = std::move(answer.body);
  out.add("Content-Type", kJson);
  if (out.code == 429) out.add("Retry-After", "2");
  if (out.code == 503) out.add("Retry-After", "1");
  return out;
}

// What was judged before the loop stalled may no longer be so.
Answer Pages::alerts_page() {
  const Nanoseconds age = this->age(box_.latest());
  if (age > readiness_.patience()) {
    return text_answer(503, sampling_trouble() + "; nobody can say now what fires\n");
  }
  const AlertsNow& now = alerts_.latest();
  const std::string trouble = alerts_trouble(now, clock_.boot(), readiness_.patience());
  if (!trouble.empty()) return text_answer(503, trouble + "\n");
  if (!alerts_body_ || now.judged != alerts_judged_ || now.texts != alerts_texts_) {
    alerts_body_ = std::make_shared<const std::string>(alerts_json(alerts_answer(now)));
    alerts_judged_ = now.judged;
    alerts_texts_ = now.texts;
  }
  Answer out;
  out.body = alerts_body_;
  out.add("Content-Type", kJson);
  return out;
}

std::string Pages::loop_trouble() const {
  const Nanoseconds beat = readiness_.last_beat();
  if (beat < Nanoseconds(0)) return "the daemon's loop has not started yet";
  const Nanoseconds age = clock_.boot() - beat;
  if (age <= readiness_.patience()) return {};
  return "the daemon's loop is stuck: last sign of life " + whole_seconds(age) + " ago, limit " +
         whole_seconds(readiness_.patience());
}

Answer Pages::health_page() {
  const std::string trouble = loop_trouble();
  return trouble.empty() ? text_answer(200, "ok\n") : text_answer(503, trouble + "\n");
}

Answer Pages::readiness_page() {
  const std::string trouble = loop_trouble();
  if (!trouble.empty()) return text_answer(503, trouble + "\n");
  const Readiness::Sources sources = readiness_.sources();
  if (!sources.known) return text_answer(503, "no source has been read yet\n");
  if (sources.all > 0 && sources.good == 0) {
    return text_answer(503, "none of " + std::to_string(sources.all) +
                                " cheap sources is ok and fresh; jetmem_source_state and the "
                                "daemon's log say why\n");
  }
  return text_answer(200, "ok\n");
}

}  // namespace jetmem
