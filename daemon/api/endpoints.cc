// All pages of the API but /api/v1/alerts, which has its own text of errors (daemon/pages.cc).

#include "daemon/api/api.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 9> kHistoryParameters{
    "series", "from", "to", "resolution", "limit", "metric", "after", "at", "patience"};
constexpr std::array<std::string_view, 6> kEventsParameters{"from", "to",     "what",
                                                            "kind", "before", "limit"};

constexpr std::array kEndpoints{
    Api::Endpoint{.path = "/api/v1/status",
                  .what = "how the device is, in short",
                  .is_of_now = true,
                  .answer = api_status},
    Api::Endpoint{.path = "/api/v1/doctor",
                  .what = "the checklist: what is wrong, why, what to do",
                  .is_of_now = true,
                  .answer = api_doctor},
    Api::Endpoint{.path = "/api/v1/now",
                  .what = "everything known now: samples, sources, alerts, events",
                  .is_of_now = true,
                  .answer = api_now},
    Api::Endpoint{.path = "/api/v1/history",
                  .what = "what was: the recorded series",
                  .parameters = kHistoryParameters,
                  .answer = api_history},
    Api::Endpoint{.path = "/api/v1/events",
                  .what = "what happened, newest first",
                  .parameters = kEventsParameters,
                  .answer = api_events},
    Api::Endpoint{.path = "/api/v1/texts",
                  .what = "the last raw text of programs that only the daemon runs",
                  .is_of_now = true,
                  .answer = api_texts},
};

}  // namespace

std::span<const Api::Endpoint> Api::endpoints() { return kEndpoints; }

}  // namespace jetmem
