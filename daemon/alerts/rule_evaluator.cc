// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/rule_evaluator.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "config/yaml_files.h"
#include "rules/model/metric_catalog.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

// Else a broken file could drown the rest of the log.
constexpr std::size_t kMaxConfigErrorsShown = 50;

// A step later than this after its moment of the grid counts as of when it was.
constexpr Nanoseconds kGridLateness = std::chrono::seconds(1);

constexpr std::array kRuleMetrics{
    gauge("jetmem_alert_state",
          "State of the alert on this device: 0 inactive, 1 pending, 2 firing; the worst of its "
          "series. jetmem alerts lists them.",
          {"alert", "severity"}, kMaxRules),
    gauge("jetmem_alert_unknown",
          "1 while it is unknown whether the alert should fire: a source that it needs is denied, "
          "failed, stale or disabled, or the probe has no result yet. 0 otherwise.",
          {"alert", "severity"}, kMaxRules),
    counter("jetmem_alert_transitions_total",
            "Alerts that became pending or firing, or ended. Fast growth: a threshold lies within "
            "the value's normal range; give the rule a clear."),
    counter("jetmem_alerts_dropped_total",
            "Alerts not followed because their rule had too many at a time."),
    gauge("jetmem_rules", "Rules that are evaluated. 0: no alert can fire."),
    gauge("jetmem_rule_config_errors",
          "Errors in the rules when they were last read; the journal of jetmemd and jetmem rules "
          "check list them. Above 0, the rules without errors are evaluated after a start; after a "
          "reload the previous rules stay in force."),
    gauge("jetmem_rules_series", "Series that rules use and whose samples are kept."),
    gauge("jetmem_rules_series_refused",
          "Series that rules use and that did not fit into rules.memory: they are not evaluated."),
    gauge("jetmem_rules_memory_bytes",
          "Memory of the kept samples and labels, as limited by rules.memory; the lists that point "
          "to them need some more."),
    counter("jetmem_rule_evaluations_total",
            "Evaluations of all rules. Must grow steadily: while it does not, this device sends no "
            "alert."),
    histogram("jetmem_rule_evaluation_duration_seconds_*",
              "Durations of the evaluations of all rules.", {"le"}, DurationHistogram::kSeries),
};
enum RuleMetric {
  kState,
  kUnknown,
  kTransitions,
  kDropped,
  kRules,
  kMistakes,
  kSeries,
  kRefusedSeries,
  kMemory,
  kSteps,
  kStepSeconds,
};

std::uint64_t dropped_of(const RuleEngine& engine) {
  std::uint64_t dropped = 0;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i)
    dropped += engine.evaluated(i).dropped;
  return dropped;
}

}  // namespace

std::span<const Descriptor> RuleEvaluator::metrics() { return kRuleMetrics; }

RuleEvaluator::RuleEvaluator(const Options& options, const Clock& clock, Log& log,
                             const Sampler& sampler, OnTransition on_transition)
    : clock_(clock),
      log_(log),
      sampler_(sampler),
      on_transition_(std::move(on_transition)),
      alert_log_(log),
      state_store_(options.runtime_directory, options.boot_id, log),
      waits_from_(clock.boot()) {}

bool RuleEvaluator::apply(const RulesSettings& settings) {
  const YamlFiles local = read_yaml_files(settings.directory);
  std::vector<ConfigText> texts;
  if (settings.shipped) texts.assign(shipped_rules().begin(), shipped_rules().end());
  for (const ConfigText& text : local.views()) texts.push_back(text);
  ParsedRules parsed = load_rules(texts, MetricCatalog::of_jetmem(), settings.interval);
  parsed.errors.insert(parsed.errors.begin(), local.errors.begin(), local.errors.end());
  config_error_count_ = parsed.errors.size();
  config_errors_ = parsed.errors;
  ++times_read_;
  const std::size_t on_transition = std::min(parsed.errors.size(), kMaxConfigErrorsShown);
  for (std::size_t i = 0; i < on_transition; ++i) {
    const ConfigError& error = parsed.errors[i];
    log_.error("rules: " + describe(error), {{"JETMEM_CONFIG_FILE", error.file}});
  }
  if (on_transition < config_error_count_) {
    log_.error("rules: and " + std::to_string(config_error_count_ - on_transition) +
               " more errors: jetmem rules check lists them all");
  }
  if (!parsed.errors.empty() && loaded_) {
    log_.error("the rules have errors: those in force are kept");
    return false;
  }
  if (!parsed.errors.empty()) log_.error("the rules have errors: those without are evaluated");
  const bool is_first = !std::exchange(loaded_, true);
  settings_ = settings;
  alert_log_.set_runbooks(settings.runbook_directory());
  std::optional<RuleEngine::Saved> before;
  const std::unique_ptr<RuleEngine> old = std::move(engine_);
  if (old) {
    before = old->save(true);
    steps_before_ += old->steps();
    dropped_before_ += dropped_of(*old);
  }
  engine_ = std::make_unique<RuleEngine>(
      std::move(parsed.rules),
      RuleEngine::Options{settings.interval, static_cast<std::size_t>(settings.memory)});
  logged_refused_series_ = 0;
  logged_dropped_.assign(engine_->rules().rules.size(), false);
  // No time was lost: the next step comes when it would have.
  if (before) {
    engine_->restore(*before, before->resumed);
    last_grid_ = std::max(last_grid_, before->last_step);
  } else if (is_first) {
    if (auto kept = state_store_.load(clock_.boot())) {
      remember_sources(kept->sources);
      before = std::move(kept->saved);
      engine_->restore(*before, clock_.boot());
      last_grid_ = std::max(last_grid_, before->last_step);
    }
  }
  if (before) withdraw(*before, old.get());
  return true;
}

// What was there before the restart, and is absent now, is gone.
void RuleEvaluator::remember_sources(const std::vector<std::string>& names) {
  was_there_.resize(sampler_.size());
  for (std::size_t i = 0; i < sampler_.size(); ++i) {
    if (std::find(names.begin(), names.end(), sampler_.info(i).name) == names.end()) continue;
    was_there_[i] = true;
    saved_sources_.emplace_back(sampler_.info(i).name);
  }
}

void RuleEvaluator::update_blind_sources() {
  blind_sources_.resize(sampler_.size());
  was_there_.resize(sampler_.size());
  answered_.resize(sampler_.size());
  for (std::size_t i = 0; i < sampler_.size(); ++i) {
    const SourceStatus& status = sampler_.status(i);
    answered_[i] = answered_[i] || status.state != SourceState::kPending;
    if (status.state == SourceState::kOk && !was_there_[i]) {
      was_there_[i] = true;
      saved_sources_.emplace_back(sampler_.info(i).name);
    }
    // What a board does not have is no blindness; what it had a moment ago is.
    const bool is_blind =
        status.dropped || (status.state == SourceState::kAbsent && was_there_[i]) ||
        status.state == SourceState::kFailed || status.state == SourceState::kDenied ||
        status.state == SourceState::kPending || status.state == SourceState::kDisabled;
    std::string& reason = blind_sources_[i];
    if (!is_blind) {
      reason.clear();
      continue;
    }
    reason.assign("source ").append(sampler_.info(i).name).append(" is ");
    reason.append(status.dropped ? std::string_view("stale") : state_name(status.state));
  }
}

std::string_view RuleEvaluator::blind(std::string_view metric) const {
  const auto known = MetricCatalog::of_jetmem().find(metric);
  if (!known) return {};
  for (const std::string_view source : known->sources) {
    for (std::size_t i = 0; i < blind_sources_.size(); ++i) {
      if (sampler_.info(i).name == source && !blind_sources_[i].empty()) return blind_sources_[i];
    }
  }
  return {};
}

std::string_view RuleEvaluator::partly_blind(std::string_view metric, const Labels& labels) const {
  if (const std::string_view reason = blind(metric); !reason.empty()) return reason;
  const auto known = MetricCatalog::of_jetmem().find(metric);
  if (!known || !missing_) return {};
  for (const std::string_view source : known->sources) {
    if (const std::string_view reason = missing_(source, labels); !reason.empty()) return reason;
  }
  return {};
}

// Since the start, or since a pause: it has not yet had the time that it takes. Bounded, so that
// one which never answers leaves its alerts unknown in the end.
bool RuleEvaluator::is_awaited(std::size_t i) const {
  constexpr Nanoseconds kTimeout = std::chrono::seconds(30);
  constexpr Nanoseconds kMost = std::chrono::minutes(20);
  const SourceStatus& status = sampler_.status(i);
  if (clock_.boot() - waits_from_ >= std::min(status.interval + kTimeout, kMost)) return false;
  if (status.state == SourceState::kPending) return !answered_[i];
  return status.dropped && status.state == SourceState::kOk && status.last_success < waits_from_;
}

bool RuleEvaluator::is_awaited(std::string_view metric) const {
  const auto known = MetricCatalog::of_jetmem().find(metric);
  if (!known) return false;
  bool any = false;
  for (const std::string_view source : known->sources) {
    for (std::size_t i = 0; i < blind_sources_.size(); ++i) {
      if (sampler_.info(i).name != source || blind_sources_[i].empty()) continue;
      if (!is_awaited(i)) return false;
      any = true;
    }
  }
  return any;
}

// A suspend, or a stop by a signal: what was read before it is old, and its reader still to answer.
void RuleEvaluator::notice_pause() {
  const Nanoseconds last = engine_->last_step();
  if (steps() == 0 || waits_from_ > last) return;
  if (clock_.boot() - last > 2 * Nanoseconds(interval())) waits_from_ = clock_.boot();
}

// At most for a moment: what hangs does not hold up the rest.
bool RuleEvaluator::awaits_sources() const {
  constexpr Nanoseconds kTimeout = std::chrono::seconds(5);
  const bool is_first = steps() == 0 || waits_from_ > engine_->last_step();
  if (!is_first || clock_.boot() - waits_from_ >= kTimeout) return false;
  for (std::size_t i = 0; i < sampler_.size(); ++i) {
    const SourceStatus& status = sampler_.status(i);
    // A program takes its time.
    if (sampler_.info(i).access == Access::kProgram || !status.skipped.empty()) continue;
    if (status.state == SourceState::kPending) return true;
    if (status.state == SourceState::kOk && status.dropped) return true;
  }
  return false;
}

bool RuleEvaluator::step(const SampleTable& table, bool provisional,
                         std::optional<Nanoseconds> grid) {
  if (!engine_) return true;
  notice_pause();
  if (awaits_sources()) return false;
  if (provisional && !may_evaluate_early()) return true;
  const Nanoseconds begin = clock_.mono();
  update_blind_sources();
  Nanoseconds at = clock_.boot();
  if (!provisional && grid && *grid > last_grid_ && at - *grid <= kGridLateness) at = *grid;
  if (!provisional) last_grid_ = at;
  engine_->scrape(table, at, provisional);
  engine_->evaluate(this);
  for (const Transition& transition : engine_->transitions()) notify(transition);
  alert_log_.flush_due(clock_.boot());
  state_store_.keep(*engine_, saved_sources_, clock_.boot());
  log_dropped_series();
  durations_.add(to_seconds(clock_.mono() - begin));
  return true;
}

void RuleEvaluator::notify(const Transition& transition) {
  ++transitions_;
  alert_log_.notify(transition);
  if (on_transition_) on_transition_(transition);
}

bool RuleEvaluator::may_evaluate_early() const {
  constexpr Nanoseconds kPause = std::chrono::seconds(1);
  return engine_ && clock_.boot() - engine_->last_step() >= kPause;
}

// Once for each: whoever reads the log later must find why an alert never came.
void RuleEvaluator::log_dropped_series() {
  if (const std::size_t refused = engine_->refused_series(); refused > logged_refused_series_) {
    logged_refused_series_ = refused;
    log_.warning("rules: " + std::to_string(refused) +
                     " series did not fit into rules.memory and are not evaluated: raise it, or "
                     "shorten the windows of rules",
                 {{"JETMEM_CONFIG_KEY", "rules.memory"}});
  }
  const auto& rules = engine_->rules().rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (engine_->evaluated(i).dropped == 0 || logged_dropped_[i]) continue;
    logged_dropped_[i] = true;
    log_.warning("rules: " + rules[i].name + " has more than " +
                     std::to_string(RuleEngine::kMaxInstances) +
                     " alerts at a time: the others are not followed",
                 {{"JETMEM_ALERT", rules[i].name}});
  }
}

// Otherwise an alert whose rule was removed would seem to fire indefinitely. `old` evaluated it;
// null: it was before a restart, and its texts are unknown.
void RuleEvaluator::withdraw(const RuleEngine::Saved& before, const RuleEngine* old) {
  for (const RuleEngine::SavedAlert& alert : before.alerts) {
    if (engine_->rules().find(alert.rule) != nullptr) continue;
    Rule nameless;
    nameless.name = printable(alert.rule, 100);
    nameless.severity = alert.severity;
    nameless.texts.summary = "its texts are unknown after a restart";
    nameless.when.emplace_back();
    const Rule* rule = old != nullptr ? old->rules().find(alert.rule) : nullptr;
    Transition transition;
    transition.rule = rule != nullptr ? rule : &nameless;
    transition.from = alert.instance.state;
    const bool has_fired = transition.from == AlertState::kFiring;
    transition.change = has_fired ? Change::kWithdrawn : Change::kCleared;
    transition.labels = *alert.instance.labels;
    transition.value = alert.instance.value;
    transition.at = clock_.boot();
    transition.active_since = alert.is_unknown ? transition.at : alert.instance.active_since;
    transition.reason = "its rule was removed";
    notify(transition);
  }
}

std::uint64_t RuleEvaluator::dropped() const { return dropped_before_ + dropped_of(*engine_); }

// Of an engine that never stepped the files tell more: what it was given came from them.
void RuleEvaluator::finish() {
  alert_log_.flush_all();
  if (engine_ && steps() > 0) state_store_.finish(*engine_, saved_sources_);
}

void RuleEvaluator::write(SampleWriter& out) const {
  if (!engine_) return;
  const auto& rules = engine_->rules().rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleEngine::Evaluation& evaluated = engine_->evaluated(i);
    const std::string_view severity = severity_name(rules[i].severity);
    // Nobody has looked yet: an alert that was kept is known, the others' absence is not.
    if (engine_->steps() == 0 && evaluated.instances.empty()) continue;
    out.put(kRuleMetrics[kState], static_cast<int>(evaluated.state()), rules[i].name, severity);
  }
  for (std::size_t i = 0; i < rules.size() && engine_->steps() > 0; ++i) {
    const RuleEngine::Evaluation& evaluated = engine_->evaluated(i);
    const bool unknown = !evaluated.blind.empty() || evaluated.has_unknown();
    out.put(kRuleMetrics[kUnknown], unknown ? 1 : 0, rules[i].name,
            severity_name(rules[i].severity));
  }
  const auto put = [&](RuleMetric metric, auto value) {
    out.put(kRuleMetrics[metric], static_cast<double>(value));
  };
  put(kTransitions, transitions_);
  put(kDropped, dropped());
  put(kRules, rules.size());
  put(kMistakes, config_error_count_);
  put(kSeries, engine_->series_count());
  put(kRefusedSeries, engine_->refused_series());
  put(kMemory, engine_->bytes());
  put(kSteps, steps());
  durations_.write(out, kRuleMetrics[kStepSeconds]);
  state_store_.write(out);
}

}  // namespace jetmem
