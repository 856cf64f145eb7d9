// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pages.h"
#include "tests/daemon/fake_history.h"
#include "tests/fuzz/target.h"
#include "tests/recorded_log.h"

// Any parameters, to any page of the API: an answer of a known status, JSON that is bounded.
FUZZ(text) {
  if (text.empty()) return;
  static ManualClock clock;
  static test::MadeUpHistory history;
  static PageBuffer buffer;
  static Published<AlertsNow> alerts;
  static Readiness readiness;
  static RecordedLog log;
  static WebMetrics metrics{clock, log};
  ApiInputs reported;
  reported.history = &history;
  if (history.known.empty()) {
    clock.set_wall(std::chrono::seconds(1'790'000'000));
    history.known = {{"jetmem_a{b=\"c\"}", true, clock.wall(), clock.wall()}};
    history.points.resize(3);
    history.samples = {{"jetmem_a", 1}};
    history.reported.resize(5);
  }
  Pages pages(clock, buffer, alerts, readiness, metrics, std::move(reported));
  const auto endpoints = Api::endpoints();
  const Api::Endpoint& endpoint = endpoints[byte_of(text, 0) % endpoints.size()];
  text.remove_prefix(1);
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string_view name = take_until(value, '=');
    parameters.push_back({name, value});
  }
  const Answer answer =
      pages.answer({.method = "GET", .path = endpoint.path, .parameters = parameters});
  const auto& codes = WebMetrics::kCodes;
  check(std::find(codes.begin(), codes.end(), answer.code) != codes.end());
  check(answer.body->starts_with('{') && answer.body->size() <= 4U << 20);
}
