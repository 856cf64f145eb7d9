// SPDX-License-Identifier: Apache-2.0
// All pages of the API.

#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/http/api/api.h"
#include "report/answers/boots_answer.h"
#include "report/answers/cma_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/answers/thermal_answer.h"
#include "report/answers/top_answer.h"
#include "report/doctor/doctor.h"
#include "report/status/status_answer.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 10> kHistoryParameters{
    "series", "from", "to", "resolution", "step", "limit", "metric", "after", "at", "lookback"};
constexpr std::array<std::string_view, 6> kEventsParameters{"from", "to",     "category",
                                                            "kind", "before", "limit"};

// The checklist; as `jetmem doctor --json`.
ApiAnswer doctor_page(Api& api, const Parameters& /*parameters*/) {
  constexpr Nanoseconds kRest = std::chrono::seconds(1);
  if (auto answer = api.kept(api.doctor_body, kRest)) return std::move(*answer);
  const auto now = std::make_shared<const DeviceNow>(api.now());
  ApiAnswer out = api.on_query_worker(
      "doctor",
      [now, history = api.history(), missing_reason = api.history_missing_reason()] {
        return api_text(doctor_json(examine(*now, history, missing_reason)));
      },
      true);
  if (out.later || out.code != 200) return out;
  return api.keep(api.doctor_body, std::move(out), api.query_duration());
}

// What `jetmem boots --json` prints, of the history as the loop published it last.
ApiAnswer boots_page(Api& api, const Parameters& /*parameters*/) {
  Result<boot::History> history =
      fail(Errc::kAbsent, "jetmemd keeps none (it has no STATE_DIRECTORY), or has not read it yet");
  boot::Marks marks;
  const auto take = [&](const std::string& path, const std::string& text) {
    const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
    if (file == boot::kMarksFile) boot::parse_marks(text, marks);
    if (file != boot::kHistoryFile) return;
    boot::History kept;
    const auto ok = boot::parse_history(text, kept);
    history = ok ? Result<boot::History>(std::move(kept)) : tl::unexpected<Error>(ok.error());
  };
  for (const auto& source : api.texts()) {
    for (const auto& [path, text] : source->files) take(path, text);
  }
  return api_text(boots_json(boots_answer(api.from(), std::move(history), marks, nullptr)));
}

// {"path": "text"}, the last raw text of what only the daemon has: output of programs, for `jetmem
// capture`, and the history of boots, for `jetmem boots`.
ApiAnswer texts_page(Api& api, const Parameters& /*parameters*/) {
  // Of what JSON makes of it: a byte may take six.
  constexpr std::size_t kMost = 3U << 20;
  using Json = nlohmann::ordered_json;
  Json out = Json::object();
  std::size_t size = 0;
  std::size_t left_out = 0;
  for (const auto& source : api.texts()) {
    left_out += source->left_out;
    for (const auto& [path, text] : source->files) {
      Json value(text);
      size += value.dump(-1, ' ', false, Json::error_handler_t::replace).size();
      if (size <= kMost) {
        out[path] = std::move(value);
      } else {
        ++left_out;
      }
    }
  }
  // A number, not a text: clients that look for texts skip it.
  if (left_out > 0) out["omitted"] = left_out;
  return api_text(out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

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
    Api::Endpoint{.path = "/api/v1/doctor", .is_of_now = true, .answer = doctor_page},
    Api::Endpoint{
        .path = "/api/v1/history", .parameters = kHistoryParameters, .answer = api_history},
    Api::Endpoint{.path = "/api/v1/events", .parameters = kEventsParameters, .answer = api_events},
    Api::Endpoint{.path = "/api/v1/boots", .answer = boots_page},
    Api::Endpoint{.path = "/api/v1/texts", .is_of_now = true, .answer = texts_page},
};

}  // namespace

std::span<const Api::Endpoint> Api::endpoints() { return kEndpoints; }

}  // namespace jetmem
