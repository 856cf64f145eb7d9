// SPDX-License-Identifier: Apache-2.0
// All pages of the API.

#include "daemon/http/api/api.h"
#include "report/answers/cma_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/answers/thermal_answer.h"
#include "report/answers/top_answer.h"
#include "report/status/status_answer.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 10> kHistoryParameters{
    "series", "from", "to", "resolution", "step", "limit", "metric", "after", "at", "lookback"};
constexpr std::array<std::string_view, 6> kEventsParameters{"from", "to",     "category",
                                                            "kind", "before", "limit"};

// Each view is the same as the command of its name prints with --json.
constexpr std::array kEndpoints{
    Api::Endpoint{.path = "/api/v1/status",
                  .is_of_now = true,
                  .view = [](Api& api) -> Result<std::string> {
                    return status_json(status_answer(api.now()));
                  }},
    Api::Endpoint{.path = "/api/v1/top",
                  .is_of_now = true,
                  .view = [](Api& api) -> Result<std::string> {
                    return top_json(top_answer(api.now(), {}));
                  }},
    Api::Endpoint{
        .path = "/api/v1/cma",
        .is_of_now = true,
        .view = [](Api& api) -> Result<std::string> { return cma_json(cma_answer(api.now())); }},
    Api::Endpoint{.path = "/api/v1/fragmentation",
                  .is_of_now = true,
                  .view = [](Api& api) -> Result<std::string> {
                    return fragmentation_json(fragmentation_answer(api.now()));
                  }},
    Api::Endpoint{.path = "/api/v1/thermal",
                  .is_of_now = true,
                  .view = [](Api& api) -> Result<std::string> {
                    return thermal_json(thermal_answer(api.now()));
                  }},
    Api::Endpoint{.path = "/api/v1/alerts",
                  .is_of_now = true,
                  .view = [](Api& api) { return api.alerts().map(alerts_json); }},
    Api::Endpoint{
        .path = "/api/v1/now",
        .is_of_now = true,
        .view = [](Api& api) -> Result<std::string> { return device_now_json(api.now()); },
        .rest = std::chrono::milliseconds(250)},
    Api::Endpoint{.path = "/api/v1/doctor", .is_of_now = true, .answer = api_doctor},
    Api::Endpoint{
        .path = "/api/v1/history", .parameters = kHistoryParameters, .answer = api_history},
    Api::Endpoint{.path = "/api/v1/events", .parameters = kEventsParameters, .answer = api_events},
    Api::Endpoint{.path = "/api/v1/boots", .answer = api_boots},
    Api::Endpoint{.path = "/api/v1/texts", .is_of_now = true, .answer = api_texts},
};

}  // namespace

std::span<const Api::Endpoint> Api::endpoints() { return kEndpoints; }

}  // namespace jetmem
