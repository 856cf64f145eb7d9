// SPDX-License-Identifier: Apache-2.0
// What the pages of the daemon are answered from, for the targets of its HTTP.
#pragma once

#include <algorithm>
#include <memory>

#include "daemon/http/server/pages.h"
#include "tests/daemon/fake_history.h"
#include "tests/fuzz/target.h"
#include "tests/recorded_log.h"

namespace jetmem {

struct Served {
  ManualClock clock;
  test::MadeUpHistory history;
  PageBuffer buffer;
  Published<AlertsNow> alerts;
  Readiness readiness;
  RecordedLog log;
  WebMetrics metrics{clock, log};
  Pages pages{clock, buffer, alerts, readiness, metrics, {.history = &history}};

  Served() {
    clock.set_wall(std::chrono::seconds(1'790'000'000));
    history.known = {{"jetmem_a{b=\"c\"}", true, clock.wall(), clock.wall()}};
    history.points.resize(3);
    history.samples = {{"jetmem_a", 1}};
    history.reported.resize(5);
    static constexpr Descriptor kSeries{.name = "jetmem_a_bytes", .help = "One."};
    SampleTable table;
    const std::size_t section = table.add_section("test");
    { SampleWriter(table, section, Nanoseconds(0)).put(kSeries, 4096); }
    auto page = std::make_shared<Page>();
    fill_page(table, clock.boot(), 1, *page);
    buffer.publish(std::move(page));
    readiness.beat(clock.boot());
    readiness.set_sources(6, 6);
  }
};

// Of a known status, and bounded.
inline void check_answer(const Answer& answer) {
  const auto& codes = WebMetrics::kCodes;
  check(std::find(codes.begin(), codes.end(), answer.code) != codes.end());
  check(answer.body != nullptr && answer.body->size() <= (4U << 20));
}

}  // namespace jetmem
