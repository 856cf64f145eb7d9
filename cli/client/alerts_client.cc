// SPDX-License-Identifier: Apache-2.0
#include "cli/client/alerts_client.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/text/utc_time.h"
#include "cli/client/daemon_client.h"
#include "cli/client/rule_input.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"
#include "report/alerts/alerts_now.h"
#include "rules/engine/engine.h"
#include "rules/export/promql.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

Result<AlertsReply> from_one_snapshot(const AlertsRequest& needed, const Settings& settings) {
  LocalSnapshotOptions local;
  local.config = needed.config;
  auto shot = LocalSnapshot::read(needed.root, {}, std::move(local));
  if (!shot) return tl::unexpected(std::move(shot.error()));
  AlertsReply out;
  if (!needed.root.empty() && needed.rules.paths.empty()) {
    out.answer = captured_or_evaluated(needed.root, **shot, settings.rules, out.notes);
    if (!out.answer.local_snapshot) out.from = "jetmem/alerts.json of the capture";
  } else {
    std::size_t files = 0;
    out.answer =
        evaluate_now(**shot, read_rules(needed.rules, settings.rules, files), settings.rules);
  }
  return out;
}

}  // namespace

Result<AlertsReply> request_alerts(const AlertsRequest& needed, DeviceClient& client) {
  if (!client.settings()) return tl::unexpected(client.settings().error());
  // No daemon has loaded the rules in these files.
  if (!needed.root.empty() || (!needed.rules.paths.empty() && needed.daemon.empty()))
    return from_one_snapshot(needed, *client.settings());
  // Not /api/v1/now, which has the same answer: this one costs the device less.
  auto answer = client.ask("/api/v1/alerts", parse_alerts);
  if (answer) return AlertsReply{std::move(*answer), client.from(), {}};
  if (!client.can_do_without(answer.error())) return tl::unexpected(std::move(answer.error()));
  auto seen = from_one_snapshot(needed, *client.settings());
  if (!seen) return seen;
  const std::string note = client.note_missing(answer.error(), kOneReading);
  if (client.silent().empty()) seen->notes.insert(seen->notes.begin(), note);
  return seen;
}

namespace {

constexpr const char* kAlerts = "/jetmem/alerts.json";
constexpr const char* kConfig = "/jetmem/config";
constexpr std::size_t kMostConfig = 1U << 20;

// Nothing if there is none, or it was not evaluated by a daemon.
std::optional<AlertsAnswer> daemons_verdict(const Root& root, std::vector<std::string>& notes) {
  int error = 0;
  const UniqueFd fd = root.open_file(kAlerts, error);
  if (!fd.valid() && error == ENOENT) return std::nullopt;
  ByteBuffer bytes;
  if (fd.valid()) error = read_to_end(fd.get(), kMaxAlertsJson, bytes);
  Result<AlertsAnswer> answer = fail(Errc::kIo, "cannot be read");
  if (error == 0) answer = parse_alerts(bytes.view());
  if (!answer) {
    notes.push_back("jetmem/alerts.json of the capture: " + printable(answer.error().message, 200) +
                    "; evaluated on the captured reading instead");
    return std::nullopt;
  }
  if (answer->local_snapshot) return std::nullopt;
  return std::move(*answer);
}

// The rules in force there, not those of this machine.
RulesSettings captured_rules(const std::string& directory, const Root& root, RulesSettings settings,
                             std::vector<std::string>& notes) {
  std::vector<std::string> names;
  bool cut = false;
  if (root.list(kConfig, 64, names, cut) != 0) return settings;
  int error = 0;
  const UniqueFd fd = root.open_file(std::string(kConfig) + "/jetmem.yaml", error);
  ByteBuffer bytes;
  if (fd.valid()) error = read_to_end(fd.get(), kMostConfig, bytes);
  if (error == 0) {
    const ConfigText text{"jetmem/config/jetmem.yaml", bytes.view()};
    auto loaded = parse_settings({&text, 1}, known_sources());
    if (loaded) {
      settings = loaded->values.rules;
    } else {
      notes.push_back("jetmem/config/jetmem.yaml of the capture is invalid");
    }
  }
  settings.directory = directory + kConfig + "/rules";
  return settings;
}

}  // namespace

AlertsAnswer captured_or_evaluated(const std::string& root, const LocalSnapshot& shot,
                                   const RulesSettings& settings, std::vector<std::string>& notes) {
  RulesSettings rules = settings;
  if (const auto tree = root.empty() ? Result<Root>(Root::live()) : Root::at(root);
      tree && !tree->is_live()) {
    if (auto answer = daemons_verdict(*tree, notes)) {
      std::string when;
      if (const auto wall =
              answer->evaluated_wall ? wall_of(*answer->evaluated_wall) : std::nullopt) {
        when = " at " + utc_time(*wall);
      }
      notes.push_back("alerts: as evaluated by jetmemd" + when + ", before the capture");
      return std::move(*answer);
    }
    rules = captured_rules(root, *tree, settings, notes);
  }
  return evaluate_now(shot, rules_in_force(rules), rules);
}

namespace {

class OneLook final : public SourceVisibility {
 public:
  explicit OneLook(const Sampler& sampler) : sampler_(sampler), problem_(sampler.size()) {
    for (std::size_t i = 0; i < sampler.size(); ++i) {
      const SourceStatus& status = sampler.status(i);
      if (status.state == SourceState::kOk || status.state == SourceState::kAbsent) continue;
      problem_[i] = "source " + std::string(sampler.info(i).name) + " is " +
                    (status.state == SourceState::kPending ? "not read"
                                                           : std::string(state_name(status.state)));
      if (!status.skipped.empty()) problem_[i] += ": " + status.skipped;
    }
  }

  std::string_view blind(std::string_view metric) const override {
    std::string_view reason;
    each_source(metric, [&](std::size_t i) {
      if (reason.empty()) reason = problem_[i];
    });
    return reason;
  }

  // The device has no such thing.
  bool is_absent(std::string_view metric) const {
    bool absent = false;
    each_source(metric,
                [&](std::size_t i) { absent |= sampler_.status(i).state == SourceState::kAbsent; });
    return absent;
  }

 private:
  template <class F>
  void each_source(std::string_view metric, F f) const {
    const auto known = MetricCatalog::of_jetmem().find(metric);
    if (!known) return;
    for (const std::string_view source : known->sources) {
      for (std::size_t i = 0; i < sampler_.size(); ++i) {
        if (sampler_.info(i).name == source) f(i);
      }
    }
  }

  const Sampler& sampler_;
  std::vector<std::string> problem_;
};

// Made of readings, maybe of earlier ones too.
bool is_derived(std::string_view metric) {
  const auto known = MetricCatalog::of_jetmem().find(metric);
  if (!known) return false;
  for (const SourceInfo* info : all_source_infos()) {
    for (const Descriptor& descriptor : info->metrics) {
      if (&descriptor == known->descriptor) return false;
    }
  }
  return true;
}

struct Verdict {
  bool is_out = false;        // the condition certainly does not hold
  std::string needs_history;  // what one reading cannot tell
};

Verdict verdict_of(const Condition& condition, const RuleEngine::Seen& seen,
                   const OneLook& sources) {
  if (condition.window.count() > 0) {
    return {false, promql_value(condition) + " needs " + format_duration(condition.window) +
                       " of history"};
  }
  if (condition.function == Function::kAbsent) return {seen.holding == 0, {}};
  if (seen.series == 0) {
    // Blind is what the engine says of it.
    if (!sources.blind(condition.metric).empty()) return {};
    if (sources.is_absent(condition.metric) || !is_derived(condition.metric)) return {true, {}};
    return {false, "no series of " + promql_selector(condition) +
                       ": this device has none, or it needs history"};
  }
  if (seen.holding > 0) return {};
  if (condition.clear && seen.worst &&
      compare(*seen.worst, *condition.comparison, condition.clear->value)) {
    return {false, condition.metric + " is between the thresholds to fire and to clear: " +
                       "whether it fired before is unknown"};
  }
  return {true, {}};
}

void print_needs_history(const Rule& rule, const RuleEngine::Evaluation& evaluated,
                         const OneLook& sources, AlertsAnswer::Rule& out) {
  bool is_out = evaluated.inhibited;
  std::string needs;
  std::vector<std::string> no_series;
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    const Verdict verdict = verdict_of(rule.when[c], evaluated.conditions[c], sources);
    is_out |= verdict.is_out;
    const bool checks_none =
        evaluated.conditions[c].series == 0 && rule.when[c].function != Function::kAbsent;
    if (verdict.is_out && checks_none) no_series.push_back(out.conditions[c].expression);
    if (!verdict.needs_history.empty())
      needs += (needs.empty() ? "" : "; ") + verdict.needs_history;
    if (rule.when[c].window.count() == 0) continue;
    // Of one sample an average could be made. It would mean nothing.
    out.conditions[c].series = out.conditions[c].holding = 0;
    out.conditions[c].worst.reset();
  }
  if (is_out) {
    // Whatever could not be seen of the others.
    out.state = "inactive";
    out.no_series = std::move(no_series);
    out.blind.clear();
    out.alerts.clear();
  } else if (!needs.empty()) {
    out.state = "unknown";
    out.needs_history = std::move(needs);
    out.alerts.clear();
  } else if (out.state == "pending") {
    out.needs_history = "fires after it is true for " + format_duration(rule.hold);
  }
}

}  // namespace

AlertsAnswer evaluate_now(const LocalSnapshot& shot, ParsedRules rules,
                          const RulesSettings& settings) {
  RuleEngine engine(std::move(rules.rules), {settings.interval, settings.memory});
  const OneLook sources(shot.sampler());
  engine.scrape(shot.table(), shot.now());
  engine.evaluate(&sources);
  const auto texts = std::make_shared<const AlertsTexts>(AlertsTexts{
      engine.rules(), std::move(rules.errors), settings.interval, settings.runbook_directory()});
  AlertsAnswer answer =
      alerts_answer(take_alerts(engine, texts, SystemClock().wall() - shot.now()));
  answer.local_snapshot = true;
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    const Rule& rule = engine.rules().rules[r];
    const auto of_rule = std::find_if(answer.rules.begin(), answer.rules.end(),
                                      [&](const auto& each) { return each.name == rule.name; });
    print_needs_history(rule, engine.evaluated(r), sources, *of_rule);
  }
  sort_rules(answer);
  return answer;
}

}  // namespace jetmem
