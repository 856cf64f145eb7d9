// SPDX-License-Identifier: Apache-2.0
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
#include "daemon/http/access/access_stats.h"
#include "metrics/sample.h"
#include "report/exposition/exposition.h"

namespace jetmem {

class WebMetrics {
 public:
  // Any path may be asked for, so only known ones get a series; the rest is "other".
  static constexpr auto kPaths = std::to_array<std::string_view>(
      {"/", "/api/v1/alerts", "/api/v1/boots", "/api/v1/cma", "/api/v1/doctor", "/api/v1/events",
       "/api/v1/fragmentation", "/api/v1/history", "/api/v1/now", "/api/v1/status", "/api/v1/texts",
       "/api/v1/thermal", "/api/v1/top", "/healthz", "/metrics", "/page", "/readyz", "other"});
  static constexpr std::array<unsigned, 9> kCodes{200, 304, 400, 401, 404, 405, 421, 500, 503};

  WebMetrics() : section_(table_.add_section("web")) {}

  void count_request(std::string_view path, unsigned code);
  void count_listen_failure() { ++listen_failures_; }
  void count_accept_failures(unsigned count) { accept_failures_ += count; }
  void set_history(bool stuck, std::uint64_t timeouts) {
    history_stuck_ = stuck;
    history_timeouts_ = timeouts;
  }
  void set_connections(unsigned count) { connections_ = count; }

  // Shown with the rest; must outlive this object.
  void set_access(const AccessStats& stats) { access_ = &stats; }

  // Appends the series in the text format. `page_age` is negative when there is no page yet.
  void render(Nanoseconds page_age, bool stalled, std::string& out);

 private:
  void write_http(SampleWriter& out) const;

  SampleTable table_;
  std::size_t section_;
  Page page_;
  std::array<std::array<std::uint64_t, kCodes.size()>, kPaths.size()> requests_{};
  std::uint64_t listen_failures_ = 0;
  std::uint64_t accept_failures_ = 0;
  unsigned connections_ = 0;
  bool history_stuck_ = false;
  std::uint64_t history_timeouts_ = 0;
  const AccessStats* access_ = nullptr;
};

// Every metric above, for the metrics reference.
std::span<const Descriptor> web_metrics();

}  // namespace jetmem
