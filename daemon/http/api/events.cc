// SPDX-License-Identifier: Apache-2.0
// /api/v1/events: what happened, newest first, a page at a time.

#include "base/try.h"
#include "daemon/http/api/api.h"
#include "report/answers/history_answer.h"
#include "report/events/event_kind_names.h"

namespace jetmem {
namespace {

constexpr std::size_t kDefault = 100;
constexpr std::size_t kMost = 500;
constexpr std::size_t kMaxKinds = 16;

Result<std::vector<std::string>> kinds_of(std::string_view text) {
  std::vector<std::string> out;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view kind = text.substr(0, comma);
    if (kind.empty() || kind.size() > 100 || out.size() == kMaxKinds) {
      return fail(Errc::kInvalid, "kind is no list of 1 to 16 kinds between commas");
    }
    JETMEM_TRY(check_event_kind(kind));
    out.emplace_back(kind);
    if (more) text.remove_prefix(comma + 1);
  }
  return out;
}

struct Requested {
  EventsQuery events;
  std::optional<Moment> from;
  std::optional<Moment> to;

  Result<void> settle(Nanoseconds now) {
    if (from) events.from = from->at(now);
    if (to) events.to = to->at(now);
    if (from && to && *events.from > *events.to) return fail(Errc::kInvalid, "from is after to");
    return {};
  }
};

Result<Requested> events_query(const Parameters& parameters) {
  Requested requested;
  EventsQuery& out = requested.events;
  JETMEM_ASSIGN(requested.from, parameters.moment("from"));
  JETMEM_ASSIGN(requested.to, parameters.moment("to"));
  JETMEM_ASSIGN(out.before, parameters.number("before"));
  JETMEM_ASSIGN(out.most, parameters.count("limit", kDefault, kMost));
  if (const std::string_view* const what = parameters.find("category")) {
    out.what = event_what_named(*what);
    if (!out.what)
      return fail(Errc::kInvalid, "category is none of kernel, alert, daemon, mark, guess");
  }
  if (const std::string_view* const kind = parameters.find("kind")) {
    JETMEM_ASSIGN(out.kinds, kinds_of(*kind));
  }
  return requested;
}

ApiAnswer wrong_events(const Error& error) {
  return api_error(400, error.message, "/api/v1/events?from=-86400&category=kernel&limit=50");
}

}  // namespace

ApiAnswer api_events(Api& api, const Parameters& parameters) {
  const auto requested = events_query(parameters);
  if (!requested) return wrong_events(requested.error());
  if (api.history() == nullptr) return api.no_history();
  return api.from_history(
      "events " + parameters.text(),
      [requested = *requested](History& history, Nanoseconds now, AnswerFrom from) mutable {
        if (auto good = requested.settle(now); !good) return wrong_events(good.error());
        const auto past = history.events(requested.events);
        if (!past) return api_error(503, past.error().message);
        if (!past->problem.empty()) from.notes.push_back(past->problem);
        return api_text(events_json(from, *past));
      });
}

}  // namespace jetmem
