#include "cli/alerts_asked.h"

#include "cli/captured_alerts.h"
#include "cli/daemon_client.h"
#include "cli/judged_now.h"
#include "cli/rule_input.h"

namespace jetmem {
namespace {

Result<AlertsAsked> from_daemon(const AlertsWanted& wanted, const Settings& settings) {
  auto places = daemon_places(wanted.daemon, settings.http, wanted.access);
  if (!places) return tl::unexpected(std::move(places.error()));
  auto reply = ask_daemon(*places, "/api/v1/alerts");
  if (!reply) return tl::unexpected(std::move(reply.error()));
  AlertsAsked out;
  out.from = reply->from.text();
  auto answer = parse_alerts(reply->body);
  if (!answer) return tl::unexpected(std::move(answer.error()).within(out.from));
  out.answer = std::move(*answer);
  out.json = alerts_json(out.answer);
  return out;
}

Result<AlertsAsked> from_one_look(const AlertsWanted& wanted, const Settings& settings) {
  auto shot = OneShot::read(wanted.root, {});
  if (!shot) return tl::unexpected(std::move(shot.error()));
  AlertsAsked out;
  if (!wanted.root.empty() && wanted.rules.paths.empty()) {
    out.answer = captured_or_judged(wanted.root, **shot, settings.rules, out.notes);
    if (!out.answer.one_look) out.from = kCapturedAlerts;
  } else {
    std::size_t files = 0;
    out.answer =
        judged_now(**shot, read_rules(wanted.rules, settings.rules, files), settings.rules);
  }
  out.json = alerts_json(out.answer);
  return out;
}

}  // namespace

Result<AlertsAsked> ask_for_alerts(const AlertsWanted& wanted, const Settings& settings) {
  if (!wanted.root.empty() && !wanted.daemon.empty()) {
    return fail(Errc::kInvalid, "--root and --daemon exclude each other");
  }
  if (!wanted.root.empty()) return from_one_look(wanted, settings);
  // Rules that are only written down are no daemon's yet.
  if (!wanted.rules.paths.empty() && wanted.daemon.empty()) return from_one_look(wanted, settings);
  auto told = from_daemon(wanted, settings);
  if (told || !wanted.daemon.empty()) return told;
  auto seen = from_one_look(wanted, settings);
  if (seen) seen->why_not_asked = std::move(told.error().message);
  return seen;
}

}  // namespace jetmem
