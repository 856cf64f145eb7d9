// The daemon's judgement: loads the rules, feeds the engine on its grid, and tells what changed.
//
//   SampleTable ──▶ TableFeed ──▶ RuleEngine ──▶ Transition ──▶ journal, hook, remedy
//                                      └──▶ jetmem_alert_state, jetmem_alert_unknown,
//                                      jetmem_rules_*
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/sample.h"
#include "collectors/sampler.h"
#include "config/settings.h"
#include "daemon/alert_keeper.h"
#include "daemon/alert_log.h"
#include "health/rules/engine.h"
#include "health/rules/table_feed.h"

namespace jetmem {

class Judge final : private Blindness {
 public:
  using Told = std::function<void(const Transition&)>;

  struct Options {
    std::string runtime_directory;  // where alerts outlive a restart; empty: nowhere
    std::string boot_id;
  };
  // `told` is called for each transition, after the journal was.
  Judge(Options options, const Clock& clock, Log& log, const Sampler& sampler, Told told);

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
  // more within the grid's interval (`provisional`) when the kernel has just logged an error: an
  // alert need not wait for the next step then.
  //
  // `grid`: the moment of the grid that this step is for, which is a little ago. A step counts as
  // of then when that is at most a second ago, so that `for` is reached at the step at which it is.
  bool step(const SampleTable& table, bool provisional = false,
            std::optional<Nanoseconds> grid = std::nullopt);

  // Whether the last step was long enough ago for one before its time, and in this grid.
  bool may_step_early() const;
  // At the end: keeps what a restart must not forget.
  void finish();

  // Entries that the journal was spared.
  std::uint64_t withheld() const { return alert_log_.withheld(); }
  void write(SampleWriter& out) const;

  // For who shows what it found: null before the first rules.
  const RuleEngine* engine() const { return engine_.get(); }
  // Of the rules as they were read last, and how often that was.
  const std::vector<ConfigError>& mistakes() const { return mistake_list_; }
  std::uint64_t times_read() const { return times_read_; }

  static std::span<const Descriptor> metrics();

 private:
  std::string_view blind(std::string_view metric) const override;
  bool is_awaited(std::string_view metric) const override;
  bool is_awaited(std::size_t source) const;
  void take_blind_sources();
  void remember_sources(const std::vector<std::string>& names);
  void notice_pause();
  void withdraw(const RuleEngine::Saved& before, const RuleEngine* old);
  void tell(const Transition& transition);
  std::uint64_t steps() const { return steps_before_ + (engine_ ? engine_->steps() : 0); }
  void say_what_is_left_out();
  std::uint64_t dropped() const;
  bool waits_for_sources() const;

  const Clock& clock_;
  Log& log_;
  const Sampler& sampler_;
  Told told_;
  AlertLog alert_log_;
  AlertKeeper keeper_;
  RulesSettings settings_;
  bool loaded_ = false;
  std::size_t mistakes_ = 0;  // in the rules as they were read last
  std::vector<ConfigError> mistake_list_;
  std::uint64_t times_read_ = 0;
  std::unique_ptr<RuleEngine> engine_;
  std::unique_ptr<TableFeed> feed_;
  std::vector<std::string> blind_sources_;  // by source; empty: it is not
  std::vector<bool> was_there_;             // by source: it gave a reading in this boot
  std::vector<bool> answered_;              // by source: it was not pending, since the start
  std::vector<std::string> kept_sources_;   // of those that were there, for the next start
  std::size_t refused_told_ = 0;            // the most series without room that were told
  std::vector<bool> dropped_told_;          // by rule
  // Of engines that are no more.
  std::uint64_t steps_before_ = 0;
  std::uint64_t dropped_before_ = 0;
  Nanoseconds waits_from_;  // the start, or the end of the last pause without steps
  Nanoseconds last_duration_{0};
  Nanoseconds last_grid_{-1};
  std::uint64_t transitions_ = 0;
};

}  // namespace jetmem
