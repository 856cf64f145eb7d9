// What is answered to a request, without any HTTP library: path in, status and body out.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "daemon/access/client_key.h"
#include "daemon/access/extra_headers.h"
#include "daemon/api/api.h"
#include "daemon/gzip_texts.h"
#include "daemon/metrics_body.h"
#include "daemon/page_box.h"
#include "daemon/readiness.h"
#include "daemon/web_metrics.h"
#include "daemon/web_options.h"
#include "page/assets.h"

namespace jetmem {

struct Request {
  std::string_view method;
  std::string_view path;  // without the query
  std::string_view accept_encoding{};
  std::string_view if_none_match{};
  bool has_body = false;
  std::span<const Parameter> parameters{};  // of the query; only the API looks at them
  ApiPatience patience{};                   // with the history
  // For the gate (daemon/access/gate.h) alone.
  std::string_view authorization{};
  std::string_view host{};
  bool on_loopback = false;  // it came to an address of loopback
  ClientKey client{};
  Nanoseconds waited_at_gate{0};
};

struct Answer {
  struct Header {
    const char* name = nullptr;  // null: unused
    const char* value = nullptr;
  };

  unsigned code = 200;
  std::shared_ptr<const std::string> body;  // stays as it is until the last client has it
  std::array<Header, 12> headers{};
  bool may_be_kept = false;  // by the client, which asks each time whether it is still right
  bool close = false;        // the connection, after this answer
  bool later = false;    // no answer yet, and the same request is to come again (ApiAnswer::later)
  bool at_gate = false;  // and waits for its password to be checked
  std::shared_ptr<const ExtraHeaders> more;  // of the web configuration; null: none

  void add(const char* name, const char* value);
};

class Pages {
 public:
  Pages(const Clock& clock, PageBox& box, AlertsBox& alerts, const Readiness& readiness,
        WebMetrics& metrics, ApiTold told = {})
      : clock_(clock),
        box_(box),
        alerts_(alerts),
        readiness_(readiness),
        metrics_(metrics),
        api_(std::move(told), clock, box, alerts, readiness) {}

  Answer answer(const Request& request);
  Api& api() { return api_; }

 private:
  Answer route(const Request& request);
  Answer metrics_page(const Request& request);
  Answer alerts_page(const Request& request);
  void send_json(const Request& request, Answer& answer);
  Answer api_page(const Api::Endpoint& endpoint, const Request& request);
  Answer asset_page(const Asset& asset, const Request& request);
  Answer health_page();
  Answer readiness_page();
  // How old the newest page is, or for how long there has been none.
  Nanoseconds age(const Page& page) const;
  // Why nobody can say how things are now; empty when it can be said.
  std::string sampling_trouble();
  // Why the loop is not alive; empty when it is.
  std::string loop_trouble() const;

  const Clock& clock_;
  PageBox& box_;
  AlertsBox& alerts_;
  const Readiness& readiness_;
  WebMetrics& metrics_;
  Api api_;
  MetricsBody body_;
  GzipTexts gzip_;
  std::map<std::pair<std::string_view, bool>, std::weak_ptr<const std::string>> asset_bodies_;
  std::string tail_;
  // Of a step of judgement, rendered once however often it is asked for.
  std::shared_ptr<const std::string> alerts_body_;
  std::shared_ptr<const AlertsTexts> alerts_texts_;
  Nanoseconds alerts_judged_{0};
  // Until the first page comes, its age is counted from here.
  const Nanoseconds started_ = clock_.boot();
};

}  // namespace jetmem
