// What is answered to a request, without any HTTP library: path in, status and body out.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "daemon/metrics_body.h"
#include "daemon/page_box.h"
#include "daemon/readiness.h"
#include "daemon/web_metrics.h"
#include "daemon/web_options.h"

namespace jetmem {

struct Request {
  std::string_view method;
  std::string_view path;  // without the query
  std::string_view accept_encoding{};
  bool has_body = false;
};

struct Answer {
  struct Header {
    const char* name = nullptr;  // null: unused
    const char* value = nullptr;
  };

  unsigned code = 200;
  std::shared_ptr<const std::string> body;  // stays as it is until the last client has it
  std::array<Header, 7> headers{};
  bool close = false;  // the connection, after this answer

  void add(const char* name, const char* value);
};

class Pages {
 public:
  Pages(const Clock& clock, PageBox& box, AlertsBox& alerts, const Readiness& readiness,
        WebMetrics& metrics)
      : clock_(clock), box_(box), alerts_(alerts), readiness_(readiness), metrics_(metrics) {}

  Answer answer(const Request& request);

 private:
  Answer route(const Request& request);
  Answer metrics_page(const Request& request);
  Answer alerts_page();
  Answer health_page();
  Answer readiness_page();
  // How old the newest page is, or for how long there has been none.
  Nanoseconds age(const Page& page) const;
  // Why the loop is not alive; empty when it is.
  std::string loop_trouble() const;

  const Clock& clock_;
  PageBox& box_;
  AlertsBox& alerts_;
  const Readiness& readiness_;
  WebMetrics& metrics_;
  MetricsBody body_;
  std::string tail_;
  // Of a step of judgement, rendered once however often it is asked for.
  std::shared_ptr<const std::string> alerts_body_;
  std::shared_ptr<const AlertsTexts> alerts_texts_;
  Nanoseconds alerts_judged_{0};
  // Until the first page comes, its age is counted from here.
  const Nanoseconds started_ = clock_.boot();
};

}  // namespace jetmem
