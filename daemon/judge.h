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
#include "daemon/alert_log.h"
#include "health/rules/engine.h"
#include "health/rules/table_feed.h"

namespace jetmem {

class Judge final : private Blindness {
 public:
  using Told = std::function<void(const Transition&)>;

  // `told` is called for each transition, after the journal was.
  Judge(const Clock& clock, Log& log, const Sampler& sampler, Told told);

  // Reads the rules and begins to judge by them; state and past of rules that stay are kept. What
  // is wrong with a rule is logged with its place. At the start the other rules are judged; later
  // the rules in force stay, and false is returned.
  bool apply(const RulesSettings& settings);

  // The grid's next moment is not before this.
  std::chrono::milliseconds interval() const { return settings_.interval; }

  // One step over what the table has now. Once more within the grid's interval (`provisional`) when
  // the kernel has just logged an error: an alert need not wait for the next step then.
  void step(const SampleTable& table, bool provisional = false);

  // Entries that the journal was spared.
  std::uint64_t withheld() const { return alert_log_.withheld(); }
  void write(SampleWriter& out) const;
  static std::span<const Descriptor> metrics();

 private:
  std::string_view blind(std::string_view metric) const override;
  void take_blind_sources();

  const Clock& clock_;
  Log& log_;
  const Sampler& sampler_;
  Told told_;
  AlertLog alert_log_;
  RulesSettings settings_;
  bool loaded_ = false;
  std::size_t mistakes_ = 0;  // in the rules as they were read last
  std::unique_ptr<RuleEngine> engine_;
  std::unique_ptr<TableFeed> feed_;
  std::vector<std::string> blind_sources_;  // by source; empty: it is not
  Nanoseconds last_duration_{0};
  std::uint64_t transitions_ = 0;
};

}  // namespace jetmem
