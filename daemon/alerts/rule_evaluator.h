// SPDX-License-Identifier: Apache-2.0
// Loads the rules, feeds the engine on its grid, and reports what changed.
//
//   SampleTable ──▶ RuleEngine ──▶ Transition ──▶ journal, Notifier, IncidentCapture
//                       └──▶ jetmem_alert_state, jetmem_alert_unknown, jetmem_rules_*
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/sampler/sampler.h"
#include "config/settings.h"
#include "daemon/alerts/alert_log.h"
#include "daemon/alerts/alert_state_store.h"
#include "metrics/histogram.h"
#include "metrics/sample.h"
#include "rules/engine/engine.h"

namespace jetmem {

class RuleEvaluator final : private SourceVisibility {
 public:
  using OnTransition = std::function<void(const Transition&)>;

  struct Options {
    std::string runtime_directory;  // where alerts outlive a restart; empty: nowhere
    std::string boot_id;
  };
  // `on_transition` is called for each transition, after its log entry.
  RuleEvaluator(const Options& options, const Clock& clock, Log& log, const Sampler& sampler,
                OnTransition on_transition);

  // Reads the rules and begins to judge by them; state and past of rules that stay are kept. What
  // is wrong with a rule is logged with its place. At the start the other rules are judged; later
  // the rules in force stay, and false is returned.
  bool apply(const RulesSettings& settings);

  // What is in force: after a refused apply() not what it was given.
  const RulesSettings& settings() const { return settings_; }
  // The grid's next moment is not before this.
  std::chrono::milliseconds interval() const { return settings_.interval; }

  // One step over what the table has now. False: not yet; the daemon has just started, or no step
  // came for long (a suspend), and sources that are still to answer would be taken for gone. Once
  // more within the grid's interval (`provisional`) when the kernel has just logged an error, or
  // memory shrinks fast: an alert need not wait for the next step then.
  //
  // `grid`: the moment of the grid that this step is for, which is a little ago. A step counts as
  // of then when that is at most a second ago, so that `for` is reached at the step at which it is.
  bool step(const SampleTable& table, bool provisional = false,
            std::optional<Nanoseconds> grid = std::nullopt);

  // Whether the last step was long enough ago for one before its time, and in this grid.
  bool may_evaluate_early() const;
  // Why a source that is ok has not reported a series with these labels; empty:
  // it has. An alert about a series that is gone is then unknown, not resolved.
  using Missing =
      std::function<std::string_view(std::string_view source, const Labels& of_the_series)>;
  void ask_missing(Missing missing) { missing_ = std::move(missing); }
  // At the end: keeps what a restart must not forget.
  void finish();

  // Entries that the journal was spared.
  std::uint64_t suppressed() const { return alert_log_.suppressed(); }
  void write(SampleWriter& out) const;

  // For who shows what it found: null before the first rules.
  const RuleEngine* engine() const { return engine_.get(); }
  // Of the rules as they were read last, and how often that was.
  const std::vector<ConfigError>& config_errors() const { return config_errors_; }
  std::uint64_t times_read() const { return times_read_; }

  static std::span<const Descriptor> metrics();

 private:
  std::string_view blind(std::string_view metric) const override;
  std::string_view partly_blind(std::string_view metric, const Labels& labels) const override;
  bool is_awaited(std::string_view metric) const override;
  bool is_awaited(std::size_t source) const;
  void update_blind_sources();
  void remember_sources(const std::vector<std::string>& names);
  void notice_pause();
  void withdraw(const RuleEngine::Saved& before, const RuleEngine* old);
  void notify(const Transition& transition);
  std::uint64_t steps() const { return steps_before_ + (engine_ ? engine_->steps() : 0); }
  void log_dropped_series();
  std::uint64_t dropped() const;
  bool awaits_sources() const;

  const Clock& clock_;
  Log& log_;
  const Sampler& sampler_;
  OnTransition on_transition_;
  Missing missing_;
  AlertLog alert_log_;
  AlertStateStore state_store_;
  RulesSettings settings_;
  bool loaded_ = false;
  std::size_t config_error_count_ = 0;  // in the rules as they were read last
  std::vector<ConfigError> config_errors_;
  std::uint64_t times_read_ = 0;
  std::unique_ptr<RuleEngine> engine_;
  std::vector<std::string> blind_sources_;  // by source; empty: it is not
  std::vector<bool> was_there_;             // by source: it gave a reading in this boot
  std::vector<bool> answered_;              // by source: it was not pending, since the start
  std::vector<std::string> saved_sources_;  // of those that were there, for the next start
  std::size_t logged_refused_series_ = 0;   // the most series without room that were logged
  std::vector<bool> logged_dropped_;        // by rule
  // Of engines before this one.
  std::uint64_t steps_before_ = 0;
  std::uint64_t dropped_before_ = 0;
  Nanoseconds waits_from_;  // the start, or the end of the last pause without steps
  DurationHistogram durations_;
  Nanoseconds last_grid_{-1};
  std::uint64_t transitions_ = 0;
};

}  // namespace jetmem
