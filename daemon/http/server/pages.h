// SPDX-License-Identifier: Apache-2.0
// Answers requests, without any HTTP library: path in, status and body out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "config/web/web_config.h"
#include "daemon/http/api/api.h"
#include "daemon/http/page_buffer.h"
#include "daemon/http/published.h"
#include "daemon/http/server/gzip.h"
#include "daemon/http/web_metrics.h"
#include "daemon/http/web_options.h"
#include "daemon/readiness.h"
#include "page/assets.h"

namespace jetmem {

struct Request {
  std::string_view method;
  std::string_view path;  // without the query
  std::string_view accept{};
  std::string_view accept_encoding{};
  std::string_view if_none_match{};
  std::span<const Parameter> parameters{};  // of the query; only the API looks at them
  ApiAsker asker{};
  // For the gate (daemon/http/server/gate.h) only.
  std::string_view authorization{};
  std::string_view host{};
  bool on_loopback = false;  // it came to a loopback address
  Nanoseconds waited_for_gate{0};
};

struct Answer {
  unsigned code = 200;
  std::shared_ptr<const std::string> body;          // unchanged until the last client has read it
  std::map<std::string_view, const char*> headers;  // names end with a NUL
  std::string etag;                                 // of the body; empty: it has none
  bool close = false;                               // the connection, after this answer
  bool later = false;    // no answer yet: pass the same request again (ApiAnswer::later)
  bool at_gate = false;  // it waits for its password to be checked
  std::shared_ptr<const WebConfig::Headers> more;  // of the web configuration; null: none

  // The first value of a name counts.
  void add(const char* name, const char* value) { headers.emplace(name, value); }
};

// Plain text that no client may cache.
Answer text_answer(unsigned code, std::string text);

class Pages {
 public:
  // Whether there is memory for an answer until its client has read it.
  using HasRoom = std::function<bool(const Request&, const Answer&)>;

  Pages(const Clock& clock, PageBuffer& buffer, const Published<AlertsNow>& alerts,
        const Readiness& readiness, WebMetrics& metrics, ApiInputs inputs = {},
        HasRoom has_room = {})
      : clock_(clock),
        buffer_(buffer),
        readiness_(readiness),
        metrics_(metrics),
        has_room_(std::move(has_room)),
        api_(std::move(inputs), clock, buffer, alerts, readiness) {}

  Answer answer(const Request& request);
  Api& api() { return api_; }
  const Api& api() const { return api_; }

 private:
  Answer route(const Request& request);
  Answer metrics_page(const Request& request);
  static std::string& unread(std::shared_ptr<std::string>& buffer);
  Answer api_page(const Api::Endpoint& endpoint, const Request& request);
  Answer asset_page(const Asset& asset, const Request& request);
  Answer health_page();
  Answer readiness_page();
  // The age of the newest page, or how long there has been none.
  Nanoseconds age(const Page& page) const;
  // Why there are no current samples; empty: there are.
  std::string sampling_problem();
  // Why the loop is not alive; empty: it is.
  std::string loop_problem() const;

  const Clock& clock_;
  PageBuffer& buffer_;
  const Readiness& readiness_;
  WebMetrics& metrics_;
  const HasRoom has_room_;
  Api api_;
  Gzip gzip_;
  std::shared_ptr<std::string> plain_;  // the last body of /metrics
  std::shared_ptr<std::string> compressed_;
  std::string tail_;
  // Age counts from here until there is a page.
  const Nanoseconds started_ = clock_.boot();
};

}  // namespace jetmem
