#include "daemon/judge.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "health/rules/check.h"
#include "health/rules/metric_catalog.h"

namespace jetmem {
namespace {

// Else a broken file could drown the rest of the log.
constexpr std::size_t kMaxMistakesTold = 50;

constexpr auto kGauge = MetricType::kGauge;
constexpr auto kCounter = MetricType::kCounter;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_alert_state",
               .type = kGauge,
               .help = "State of the alert on this device: 0 inactive, 1 pending, 2 firing; the "
                       "worst of its series. jetmem alerts says which.",
               .labels = {"alert", "severity"},
               .max_series = kMaxRules},
    Descriptor{.name = "jetmem_alert_unknown",
               .type = kGauge,
               .help =
                   "1 while nobody can say whether the alert should fire: a source that it needs "
                   "is denied, failed, stale or switched off. 0 otherwise.",
               .labels = {"alert", "severity"},
               .max_series = kMaxRules},
    Descriptor{.name = "jetmem_alert_transitions_total",
               .type = kCounter,
               .help = "Alerts that became pending or firing, or ended. Fast growth means that a "
                       "threshold lies where the value moves anyway: give it a clear."},
    Descriptor{.name = "jetmem_alerts_dropped_total",
               .type = kCounter,
               .help = "Alerts not followed because their rule had too many at a time."},
    Descriptor{.name = "jetmem_rules",
               .type = kGauge,
               .help = "Rules that are judged. 0: nothing would ever be told."},
    Descriptor{.name = "jetmem_rules_mistakes",
               .type = kGauge,
               .help = "Mistakes in the rules as they were read last; the journal of jetmemd and "
                       "jetmem rules check have them. Above 0 not all that was written is judged."},
    Descriptor{.name = "jetmem_rules_series",
               .type = kGauge,
               .help = "Series that rules mention and whose past is kept."},
    Descriptor{.name = "jetmem_rules_series_refused",
               .type = kGauge,
               .help = "Series that rules mention and that had no room within rules.memory: they "
                       "are not judged."},
    Descriptor{.name = "jetmem_rules_memory_bytes",
               .type = kGauge,
               .help = "Memory that the series' past takes, at most rules.memory."},
    Descriptor{.name = "jetmem_rules_steps_total",
               .type = kCounter,
               .help = "Times that all rules were judged. Must grow steadily: standing still, no "
                       "alert is to be expected from this device."},
    Descriptor{.name = "jetmem_rules_step_seconds",
               .type = kGauge,
               .help = "How long the last judgement of all rules took."},
    Descriptor{.name = "jetmem_alert_keep_failures_total",
               .type = kCounter,
               .help = "Times that alerts could not be written to, or read from, the file in which "
                       "they outlive a restart of jetmemd: after one they would begin anew."},
};
enum Metric {
  kState,
  kUnknown,
  kTransitions,
  kDropped,
  kRules,
  kMistakes,
  kSeries,
  kRefused,
  kMemory,
  kSteps,
  kStepSeconds,
  kKeepFailures,
};

}  // namespace

std::span<const Descriptor> Judge::metrics() { return kMetrics; }

Judge::Judge(Options options, const Clock& clock, Log& log, const Sampler& sampler, Told told)
    : clock_(clock),
      log_(log),
      sampler_(sampler),
      told_(std::move(told)),
      alert_log_(log),
      keeper_(std::move(options.runtime_directory), std::move(options.boot_id), log),
      started_(clock.boot()) {}

bool Judge::apply(const RulesSettings& settings) {
  const RuleFiles local = read_rule_files(settings.directory);
  std::vector<ConfigText> texts;
  if (settings.shipped) texts.assign(shipped_rules().begin(), shipped_rules().end());
  for (const ConfigText& text : local.views()) texts.push_back(text);
  ParsedRules parsed = load_rules(texts, MetricCatalog::of_jetmem(), settings.interval);
  parsed.errors.insert(parsed.errors.begin(), local.errors.begin(), local.errors.end());
  mistakes_ = parsed.errors.size();
  mistake_list_ = parsed.errors;
  ++times_read_;
  const std::size_t told = std::min(parsed.errors.size(), kMaxMistakesTold);
  for (std::size_t i = 0; i < told; ++i) {
    const ConfigError& error = parsed.errors[i];
    log_.error("rules: " + describe(error), {{"JETMEM_CONFIG_FILE", error.file}});
  }
  if (told < mistakes_) {
    log_.error("rules: and " + std::to_string(mistakes_ - told) +
               " more mistakes: jetmem rules check names them all");
  }
  if (!parsed.errors.empty() && loaded_) {
    log_.error("the rules have mistakes: those in force are kept");
    return false;
  }
  if (!parsed.errors.empty()) log_.error("the rules have mistakes: the others are judged");
  const bool is_first = !std::exchange(loaded_, true);
  settings_ = settings;
  std::optional<RuleEngine::Saved> before;
  if (engine_) {
    before = engine_->save(true);
    steps_before_ += engine_->steps();
    dropped_before_ = dropped();
  }
  alert_log_.forget();
  alert_log_.set_runbooks(settings.runbooks);
  feed_.reset();
  engine_ = std::make_unique<RuleEngine>(
      std::move(parsed.rules),
      RuleEngine::Options{settings.interval, static_cast<std::size_t>(settings.memory)});
  feed_ = std::make_unique<TableFeed>(*engine_);
  refused_told_ = 0;
  dropped_told_.assign(engine_->rules().rules.size(), false);
  // No time was lost: the next step comes when it would have.
  if (before) {
    engine_->restore(*before, before->last_step);
  } else if (is_first) {
    before = keeper_.load(clock_.boot());
    if (before) engine_->restore(*before, clock_.boot());
  }
  if (before) say_what_is_no_longer_judged(*before);
  return true;
}

void Judge::take_blind_sources() {
  blind_sources_.resize(sampler_.size());
  was_there_.resize(sampler_.size());
  for (std::size_t i = 0; i < sampler_.size(); ++i) {
    const SourceStatus& status = sampler_.status(i);
    if (status.state == SourceState::kOk) was_there_[i] = true;
    // What a board does not have is no blindness; what it had a moment ago is.
    const bool is_blind =
        status.stale || (status.state == SourceState::kAbsent && was_there_[i]) ||
        status.state == SourceState::kFailed || status.state == SourceState::kDenied ||
        status.state == SourceState::kPending || status.state == SourceState::kDisabled;
    std::string& reason = blind_sources_[i];
    if (!is_blind) {
      reason.clear();
      continue;
    }
    reason.assign("source ").append(sampler_.info(i).name).append(" is ");
    reason.append(status.stale ? std::string_view("stale") : state_name(status.state));
  }
}

std::string_view Judge::blind(std::string_view metric) const {
  const auto known = MetricCatalog::of_jetmem().find(metric);
  if (!known) return {};
  for (const std::string_view source : known->sources) {
    for (std::size_t i = 0; i < blind_sources_.size(); ++i) {
      if (sampler_.info(i).name == source && !blind_sources_[i].empty()) return blind_sources_[i];
    }
  }
  return {};
}

// At most for a moment: what hangs does not hold up the rest.
bool Judge::waits_for_sources() const {
  constexpr Nanoseconds kPatience = std::chrono::seconds(5);
  if (engine_->steps() > 0 || clock_.boot() - started_ >= kPatience) return false;
  for (std::size_t i = 0; i < sampler_.size(); ++i) {
    const SourceStatus& status = sampler_.status(i);
    // A program takes its time.
    if (sampler_.info(i).access == Access::kProgram || !status.skipped.empty()) continue;
    if (status.state == SourceState::kPending) return true;
  }
  return false;
}

bool Judge::step(const SampleTable& table, bool provisional) {
  if (!engine_) return true;
  if (waits_for_sources()) return false;
  if (provisional && !may_step_early()) return true;
  const Nanoseconds begin = clock_.mono();
  take_blind_sources();
  feed_->scrape(table, clock_.boot(), provisional);
  engine_->judge(this);
  for (const Transition& transition : engine_->transitions()) {
    ++transitions_;
    alert_log_.tell(transition);
    if (told_) told_(transition);
  }
  alert_log_.catch_up(clock_.boot());
  keeper_.keep(*engine_, clock_.boot());
  say_what_is_left_out();
  last_duration_ = clock_.mono() - begin;
  return true;
}

bool Judge::may_step_early() const {
  constexpr Nanoseconds kPause = std::chrono::seconds(1);
  return engine_ && clock_.boot() - engine_->last_step() >= kPause;
}

// Once for each: whoever reads the log later must find why an alert never came.
void Judge::say_what_is_left_out() {
  if (const std::size_t refused = engine_->refused_series(); refused > refused_told_) {
    refused_told_ = refused;
    log_.warning("rules: " + std::to_string(refused) +
                     " series had no room within rules.memory and are not judged: raise it, or "
                     "shorten the windows of rules",
                 {{"JETMEM_CONFIG_KEY", "rules.memory"}});
  }
  const auto& rules = engine_->rules().rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (engine_->judged(i).dropped == 0 || dropped_told_[i]) continue;
    dropped_told_[i] = true;
    log_.warning("rules: " + rules[i].name + " has more than " +
                     std::to_string(RuleEngine::kMaxInstances) +
                     " alerts at a time: the others are not followed",
                 {{"JETMEM_ALERT", rules[i].name}});
  }
}

// Else the last that was heard of such an alert is that it fires.
void Judge::say_what_is_no_longer_judged(const RuleEngine::Saved& before) {
  std::string_view last;  // one rule's alerts follow each other
  for (const RuleEngine::SavedAlert& alert : before.alerts) {
    if (alert.rule == last || engine_->rules().find(alert.rule) != nullptr) continue;
    last = alert.rule;
    const AlertState state = alert.instance.state;
    const auto was = state == AlertState::kInactive ? "unknown" : alert_state_name(state);
    log_.info(printable(alert.rule, 100) + " was " + std::string(was) +
                  ", and is judged no longer: its rule is no more",
              {{"JETMEM_ALERT", printable(alert.rule, 100)}});
  }
}

std::uint64_t Judge::dropped() const {
  std::uint64_t dropped = dropped_before_;
  for (std::size_t i = 0; i < engine_->rules().rules.size(); ++i) {
    dropped += engine_->judged(i).dropped;
  }
  return dropped;
}

void Judge::finish() {
  alert_log_.forget();
  if (engine_) keeper_.finish(*engine_);
}

void Judge::write(SampleWriter& out) const {
  if (!engine_) return;
  const auto& rules = engine_->rules().rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleEngine::Judged& judged = engine_->judged(i);
    const std::string_view severity = severity_name(rules[i].severity);
    // Nobody has looked yet: an alert that was kept is known, the others' absence is not.
    if (engine_->steps() == 0 && judged.instances.empty()) continue;
    out.put(kMetrics[kState], static_cast<int>(judged.state()), rules[i].name, severity);
  }
  for (std::size_t i = 0; i < rules.size() && engine_->steps() > 0; ++i) {
    const RuleEngine::Judged& judged = engine_->judged(i);
    const bool unknown = !judged.blind.empty() || !judged.unknown.empty();
    out.put(kMetrics[kUnknown], unknown ? 1 : 0, rules[i].name, severity_name(rules[i].severity));
  }
  const auto put = [&](Metric metric, auto value) {
    out.put(kMetrics[metric], static_cast<double>(value));
  };
  put(kTransitions, transitions_);
  put(kDropped, dropped());
  put(kRules, rules.size());
  put(kMistakes, mistakes_);
  put(kSeries, engine_->series_count());
  put(kRefused, engine_->refused_series());
  put(kMemory, engine_->bytes());
  put(kSteps, steps_before_ + engine_->steps());
  out.put(kMetrics[kStepSeconds], to_seconds(last_duration_));
  put(kKeepFailures, keeper_.failures());
}

}  // namespace jetmem
