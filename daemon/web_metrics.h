// The web thread's own figures. They are written at each scrape, by the web thread: when the
// loop hangs, they are what still tells the truth.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/sample.h"
#include "daemon/access/figures.h"
#include "report/exposition.h"

namespace jetmem {

class WebMetrics {
 public:
  // Any path may be asked for, so only known ones get a series; the rest is "other".
  static constexpr std::array<std::string_view, 17> kPaths{"/",
                                                           "/api/v1/alerts",
                                                           "/api/v1/cma",
                                                           "/api/v1/doctor",
                                                           "/api/v1/events",
                                                           "/api/v1/fragmentation",
                                                           "/api/v1/history",
                                                           "/api/v1/now",
                                                           "/api/v1/status",
                                                           "/api/v1/texts",
                                                           "/api/v1/thermal",
                                                           "/api/v1/top",
                                                           "/healthz",
                                                           "/metrics",
                                                           "/page",
                                                           "/readyz",
                                                           "other"};
  static constexpr std::array<unsigned, 11> kCodes{200, 304, 400, 401, 404, 405,
                                                   413, 421, 429, 500, 503};

  WebMetrics() : section_(table_.add_section("web")) {}

  void count_request(std::string_view path, unsigned code);
  // One that was counted was answered otherwise in the end.
  void count_instead(std::string_view path, unsigned counted, unsigned code);
  void count_listen_failure() { ++listen_failures_; }
  void count_accept_failure() { ++accept_failures_; }
  void set_history(bool stuck, std::uint64_t timeouts) {
    history_stuck_ = stuck;
    history_timeouts_ = timeouts;
  }
  void set_connections(unsigned count) { connections_ = count; }

  // Shown with the rest; must outlive this object.
  void set_access(const AccessFigures& figures) { access_ = &figures; }

  // Appends the series in the text format. `page_age` is negative when there is no page yet.
  void render(Nanoseconds page_age, bool stalled, std::string& out);
  // The same without those of write_page_age.
  void render_http(std::string& out);

 private:
  void write_http(SampleWriter& out) const;

  SampleTable table_;
  std::size_t section_;
  Page page_;
  // For render_http, of which most daemons have no need.
  struct Http {
    SampleTable table;
    std::size_t section = table.add_section("http");
    Page page;
  };
  std::unique_ptr<Http> http_;
  std::array<std::array<std::uint64_t, kCodes.size()>, kPaths.size()> requests_{};
  std::uint64_t listen_failures_ = 0;
  std::uint64_t accept_failures_ = 0;
  unsigned connections_ = 0;
  bool history_stuck_ = false;
  std::uint64_t history_timeouts_ = 0;
  const AccessFigures* access_ = nullptr;
};

// What whoever shows a page says of it: how old it is (negative: there is none yet), and whether it
// is so old that it is left out.
void write_page_age(SampleWriter& out, Nanoseconds page_age, bool stalled);

// Every metric above, for the metrics reference.
std::span<const Descriptor> web_metrics();

}  // namespace jetmem
