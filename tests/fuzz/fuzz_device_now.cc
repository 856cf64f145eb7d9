// SPDX-License-Identifier: Apache-2.0
#include "report/answers/history_answer.h"
#include "report/device/device_now.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::string_view kGood =
    R"({"schema":"jetmem-now/1","by":"daemon","version":"1","boot_id":"b","since_boot_seconds":9,)"
    R"("time":1790000000.5,"sources":[{"source":"cma","description":"w","state":"denied","reason":"r",)"
    R"("stale":false,"interval_seconds":1,"absent_values":{"off":2}}],"no_alerts":"none",)"
    R"("events":[{"id":3,"category":"kernel","kind":"k","severity":"error","summary":"s","boot":1,)"
    R"("time":1790000000,"since_boot_seconds":3,"count":2,"fields":{"a":[1]}}],"notes":["n"],)"
    R"("samples":{"jetmem_a{b=\"c\"}":1.5}})";

}  // namespace

// What answers may be anybody. What is understood is written so that it is understood again.
FUZZ(input) {
  const std::string text = damaged(kGood, input);
  (void)parse_history_list(text);
  (void)parse_series_past(text);
  (void)parse_history_moment(text);
  (void)parse_events(text);
  const auto now = parse_device_now(text);
  if (!now) return;
  const auto again = parse_device_now(device_now_json(*now));
  check(again && again->samples.all().size() == now->samples.all().size());
}
