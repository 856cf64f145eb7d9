#include "daemon/api/api.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "daemon/api/alerts_trouble.h"

namespace jetmem {
namespace {

// Before jetmem was written no clock was right.
constexpr Nanoseconds kPlausible = std::chrono::seconds(1'700'000'000);
// Questions to the history: of the desk's time, at once.
constexpr Nanoseconds kMostAtOnce = std::chrono::seconds(2);
// Longer than that no kept body is told on, however dear it is to make.
constexpr Nanoseconds kLongestRest = std::chrono::seconds(30);
constexpr int kRestForCost = 10;

std::string fix_of(const Api::Endpoint& endpoint) {
  if (endpoint.parameters.empty()) return "this page takes no parameters";
  std::string out = "this page takes";
  const char* separator = " ";
  for (const std::string_view name : endpoint.parameters) {
    out.append(separator).append(name);
    separator = ", ";
  }
  return out + ", each once; docs/api.md has them";
}

std::optional<double> plausible(Nanoseconds wall) {
  if (wall < kPlausible) return std::nullopt;
  return to_seconds(wall);
}

}  // namespace

ApiAnswer api_text(std::string json) {
  return {200, std::make_shared<const std::string>(std::move(json))};
}

ApiAnswer api_error(unsigned code, std::string_view error, std::string_view fix) {
  nlohmann::ordered_json out{{"error", printable(error, 500)}};
  if (!fix.empty()) out["fix"] = printable(fix, 500);
  return {code, std::make_shared<const std::string>(answer_text(out))};
}

Api::Api(ApiTold told, const Clock& clock, PageBox& pages, AlertsBox& alerts,
         const Readiness& readiness)
    : told_(std::move(told)),
      clock_(clock),
      pages_(pages),
      alerts_(alerts),
      readiness_(readiness),
      budget_(kMostAtOnce) {}

const Api::Endpoint* Api::find(std::string_view path) {
  const auto all = endpoints();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Endpoint& each) { return each.path == path; });
  return found == all.end() ? nullptr : &*found;
}

ApiAnswer Api::answer(const Endpoint& endpoint, std::span<const Parameter> parameters,
                      const std::string& trouble, ApiPatience patience) {
  const Parameters asked(parameters);
  if (const auto known = asked.only(endpoint.parameters); !known) {
    return api_error(400, known.error().message, fix_of(endpoint));
  }
  if (endpoint.is_of_now && !trouble.empty()) {
    return api_error(503, trouble, "systemctl status jetmemd; journalctl -u jetmemd");
  }
  trouble_ = trouble;
  patience_ = patience;
  try {
    return endpoint.answer(*this, asked);
  } catch (const std::exception& error) {
    // Whatever it was: the next one may do.
    return api_error(500, std::string("no answer could be made: ") + error.what());
  }
}

std::array<std::uint64_t, 4> Api::newest() {
  const Page& page = pages_.latest();
  const std::uint64_t sources = told_.sources == nullptr ? 0 : told_.sources->latest().changes;
  return {page.round, static_cast<std::uint64_t>(page.taken.count()),
          static_cast<std::uint64_t>(alerts_.latest().judged.count()), sources};
}

const DeviceNow& Api::now() {
  const auto of = newest();
  if (of == now_of_) return now_;
  const Page& page = pages_.latest();
  now_.by = LookBy::kDaemon;
  now_.version = kVersion;
  now_.boot_id = told_.boot_id;
  // The moment of the samples, not of the question.
  now_.since_boot = to_seconds(page.taken);
  now_.wall = plausible(clock_.wall() - (clock_.boot() - page.taken));
  now_.samples = SampleSet::of(page);
  if (told_.sources != nullptr) now_.sources = told_.sources->latest().sources;
  const AlertsNow& alerts = alerts_.latest();
  now_.no_alerts = alerts_trouble(alerts, clock_.boot(), readiness_.patience());
  if (now_.no_alerts.empty()) {
    now_.alerts = alerts_answer(alerts);
  } else {
    now_.alerts.reset();
  }
  look_at_past();
  now_of_ = of;
  return now_;
}

std::string Api::late(HistoryDesk::State state) {
  ++timeouts_;
  std::string out = "the history does not answer";
  if (state == HistoryDesk::State::kNoThread) return out + ": no thread could be started";
  if (const auto asked = desk_.asked_for()) {
    out += state == HistoryDesk::State::kAsked ? ": asked " : ": another question was asked ";
    out += whole_seconds(*asked) + " ago";
    if (state == HistoryDesk::State::kStuck) out += ", its disk may hang";
  }
  return out;
}

ApiAnswer Api::at_desk(const std::string& key, std::function<ApiAnswer()> make) {
  if (!patience_.again && !budget_.may_spend(clock_.mono())) {
    return api_error(429, "too many questions to the history in a short time",
                     "ask again in a few seconds, or for fewer points (limit, resolution)");
  }
  const auto question = [make = std::move(make)] { return std::any(make()); };
  HistoryDesk::Reply reply = desk_.ask(key, question, patience_.wait);
  using State = HistoryDesk::State;
  if (reply.state == State::kAnswered) {
    desk_took_ = reply.took;
    // A disk that hung for long is no fault of who asked.
    budget_.spent(std::min<Nanoseconds>(reply.took, kMostAtOnce));
    if (auto* const answer = std::any_cast<ApiAnswer>(&reply.answer)) return std::move(*answer);
    return api_error(500, "no answer could be made of the history");
  }
  const bool may_come = reply.state == State::kAsked || reply.state == State::kBusy;
  if (may_come && patience_.may_come_again) {
    ApiAnswer out;
    out.later = true;
    return out;
  }
  return api_error(503, late(reply.state), "ask again in a second; journalctl -u jetmemd");
}

std::shared_ptr<const std::string> Api::kept(const KeptBody& body, Nanoseconds rest) {
  const Nanoseconds pause = std::max(rest, std::min(kRestForCost * body.cost, kLongestRest));
  const bool is_good = body.made_of == newest() || clock_.mono() - body.made < pause;
  return is_good ? body.text : nullptr;
}

ApiAnswer Api::keep(KeptBody& body, ApiAnswer answer, Nanoseconds cost) {
  body.text = answer.body;
  body.made_of = newest();
  body.made = clock_.mono();
  body.cost = cost;
  return answer;
}

ApiAnswer Api::kept(KeptBody& body, Nanoseconds rest, const std::function<std::string()>& make) {
  if (auto text = kept(body, rest)) return {200, std::move(text)};
  const Nanoseconds begin = clock_.mono();
  std::string text = make();
  return keep(body, api_text(std::move(text)), clock_.mono() - begin);
}

ApiAnswer Api::no_history() const {
  return api_error(503, told_.no_history, "docs/history.md says what it needs");
}

bool Api::has_metric(const std::string& name) {
  const Page& page = pages_.latest();
  return page.layout && page.layout->text().find("# TYPE " + name + " ") != std::string::npos;
}

AnswerFrom Api::from() const {
  AnswerFrom out;
  out.by = std::string(look_by_name(LookBy::kDaemon));
  out.version = kVersion;
  out.boot_id = told_.boot_id;
  out.since_boot = to_seconds(clock_.boot());
  out.wall = plausible(clock_.wall());
  if (!trouble_.empty()) out.notes.push_back(trouble_);
  return out;
}

}  // namespace jetmem
