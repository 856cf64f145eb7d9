// SPDX-License-Identifier: Apache-2.0
// /api/v1/now: everything that is known of the device now.

#include <algorithm>
#include <utility>

#include "daemon/http/api/api.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kDay = std::chrono::hours(24);
// The history is asked at most once a second, and less often where that takes long.
constexpr Nanoseconds kPastRest = std::chrono::seconds(1);
// What the web thread waits for it, and how old what is known may be while it does not answer.
constexpr std::chrono::milliseconds kTimeout{200};
constexpr Nanoseconds kOldest = std::chrono::seconds(5);
// The number of this boot is another one only when the history had to be begun anew.
constexpr Nanoseconds kBootRest = std::chrono::seconds(60);
constexpr Nanoseconds kNoBootRest = std::chrono::seconds(5);

struct PastNow {
  Result<EventsPast> events;
  std::optional<std::int64_t> boot;  // absent: not asked for
};

PastNow past_now(History& history, const EventsQuery& requested, bool query_boot,
                 const std::string& boot_id) {
  PastNow out{history.events(requested), std::nullopt};
  if (!query_boot) return out;
  out.boot = 0;
  const auto facts = history.facts();
  if (!facts || facts->boots.empty()) return out;
  const BootKnown& last = facts->boots.back();
  if (!boot_id.empty() && last.boot_id == boot_id) out.boot = last.number;
  return out;
}

}  // namespace

void Api::check_past() {
  if (inputs_.history == nullptr) {
    now_.no_events = inputs_.no_history;
    return;
  }
  const Nanoseconds now = clock_.mono();
  if (past_query_ >= Nanoseconds(0) && now - past_query_ < past_pause_) return;
  past_query_ = now;
  past_pause_ = kPastRest;

  EventsQuery requested;
  // A clock that was never set says nothing of a day ago.
  if (clock_.wall() >= kFirstPlausibleTime) requested.from = clock_.wall() - kDay;
  requested.most = DeviceNow::kMaxEvents;
  const bool query_boot = boot_query_ < Nanoseconds(0) ||
                          now - boot_query_ >= (now_.boot == 0 ? kNoBootRest : kBootRest);
  QueryWorker::Reply reply = query_worker_.ask(
      "now", nullptr,
      [history = inputs_.history, requested, query_boot, boot_id = inputs_.boot_id](Nanoseconds&) {
        return std::any(past_now(*history, requested, query_boot, boot_id));
      },
      kTimeout);
  if (reply.state != QueryWorker::State::kAnswered) {
    const std::string why = late(reply.state);
    if (past_seen_ >= Nanoseconds(0) && now - past_seen_ <= kOldest) return;
    now_.events.clear();
    now_.no_events = why;
    return;
  }
  past_pause_ = pause_after(reply.elapsed, kPastRest);
  past_seen_ = now;
  auto* const past = std::any_cast<PastNow>(&reply.answer);
  now_.events.clear();
  now_.no_events.clear();
  if (past == nullptr) {
    now_.no_events = "no answer could be made of the history";
    return;
  }
  if (past->boot) {
    now_.boot = *past->boot;
    boot_query_ = now;
  }
  if (past->events) {
    now_.events = std::move(past->events->events);
    // What is known is reported all the same.
    now_.no_events = std::move(past->events->problem);
  } else {
    now_.no_events = std::move(past->events.error().message);
  }
}

}  // namespace jetmem
