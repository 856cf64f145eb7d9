#include "cli/judged_now.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "collectors/registry.h"
#include "health/rules/engine.h"
#include "health/rules/metric_catalog.h"
#include "health/rules/promql.h"
#include "health/rules/table_feed.h"
#include "report/alerts_now.h"

namespace jetmem {
namespace {

class OneLook final : public Blindness {
 public:
  explicit OneLook(const Sampler& sampler) : sampler_(sampler), trouble_(sampler.size()) {
    for (std::size_t i = 0; i < sampler.size(); ++i) {
      const SourceStatus& status = sampler.status(i);
      if (status.state == SourceState::kOk || status.state == SourceState::kAbsent) continue;
      trouble_[i] = "source " + std::string(sampler.info(i).name) + " is " +
                    (status.state == SourceState::kPending ? "not read"
                                                           : std::string(state_name(status.state)));
      if (!status.skipped.empty()) trouble_[i] += ": " + status.skipped;
    }
  }

  std::string_view blind(std::string_view metric) const override {
    std::string_view reason;
    each_source(metric, [&](std::size_t i) {
      if (reason.empty()) reason = trouble_[i];
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
  std::vector<std::string> trouble_;
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
  bool is_out = false;     // the condition certainly does not hold
  std::string needs_past;  // nobody can say from one look
};

Verdict look(const Condition& condition, const RuleEngine::Seen& seen, const OneLook& sources) {
  if (condition.window.count() > 0) {
    return {false,
            promql_value(condition) + " needs " + format_duration(condition.window) + " of past"};
  }
  if (condition.function == Function::kAbsent) return {seen.holding == 0, {}};
  if (seen.series == 0) {
    // Blind is what the engine says of it.
    if (!sources.blind(condition.metric).empty()) return {};
    if (sources.is_absent(condition.metric) || !is_derived(condition.metric)) return {true, {}};
    return {false, "no series of " + promql_selector(condition) +
                       ": this device has none, or it needs a past"};
  }
  if (seen.holding > 0) return {};
  if (condition.clear && seen.worst &&
      compare(*seen.worst, *condition.comparison, condition.clear->value)) {
    return {false, condition.metric + " is beyond the threshold to stop at, not the one to start " +
                       "at: whether it fired before is not known"};
  }
  return {true, {}};
}

void say_what_needs_a_past(const Rule& rule, const RuleEngine::Judged& judged,
                           const OneLook& sources, AlertsAnswer::Rule& out) {
  bool is_out = judged.silenced;
  std::string needs;
  std::vector<std::string> no_series;
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    const Verdict verdict = look(rule.when[c], judged.conditions[c], sources);
    is_out |= verdict.is_out;
    const bool looks_at_none =
        judged.conditions[c].series == 0 && rule.when[c].function != Function::kAbsent;
    if (verdict.is_out && looks_at_none) no_series.push_back(out.conditions[c].expression);
    if (!verdict.needs_past.empty()) needs += (needs.empty() ? "" : "; ") + verdict.needs_past;
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
    out.needs_past = std::move(needs);
    out.alerts.clear();
  } else if (out.state == "pending") {
    out.needs_past = "would be pending: fires once this has held for " + format_duration(rule.hold);
  }
}

}  // namespace

AlertsAnswer judged_now(const OneShot& shot, ParsedRules rules, const RulesSettings& settings) {
  RuleEngine engine(std::move(rules.rules), {settings.interval, settings.memory});
  const OneLook sources(shot.sampler());
  TableFeed(engine).scrape(shot.table(), shot.now());
  engine.judge(&sources);
  const auto texts = std::make_shared<const AlertsTexts>(AlertsTexts{
      engine.rules(), std::move(rules.errors), settings.interval, settings.runbook_directory()});
  AlertsNow now;
  take_alerts(engine, texts, SystemClock().wall() - shot.now(), now);
  AlertsAnswer answer = alerts_answer(now);
  answer.one_look = true;
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    const Rule& rule = engine.rules().rules[r];
    const auto of_rule = std::find_if(answer.rules.begin(), answer.rules.end(),
                                      [&](const auto& each) { return each.name == rule.name; });
    say_what_needs_a_past(rule, engine.judged(r), sources, *of_rule);
  }
  sort_by_state(answer);
  return answer;
}

}  // namespace jetmem
