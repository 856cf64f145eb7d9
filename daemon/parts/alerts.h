// SPDX-License-Identifier: Apache-2.0
// From a cycle's samples to alerts: evaluates the rules, and hands each transition to the history,
// the notifier and the capture of bundles.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "config/settings.h"
#include "daemon/alerts/notifier.h"
#include "daemon/alerts/rule_evaluator.h"
#include "daemon/capture/incident_capture.h"
#include "daemon/parts/daemon_context.h"
#include "daemon/parts/sampling.h"
#include "daemon/state/history_feed.h"
#include "metrics/sample.h"

namespace jetmem {

class Alerts {
 public:
  // `history` may be null. `own_address`: where a program that we start finds us; empty: nowhere.
  Alerts(DaemonContext& context, Sampling& sampling, HistoryFeed* history,
         std::function<std::string()> own_address);

  Result<void> start();
  // False: the rules have mistakes, and those in force are kept.
  bool apply(const Settings& settings);
  const RuleEvaluator& evaluator() const { return *evaluator_; }

  // The rules' interval is over, or something happens that cannot wait for that: the kernel logged
  // an event, or memory shrinks fast.
  void set_due() { is_due_ = true; }
  void set_early() { is_early_ = true; }
  bool is_due() const { return is_due_ || is_early_; }
  // As RuleEvaluator's.
  void ask_missing(RuleEvaluator::Missing missing) { evaluator_->ask_missing(std::move(missing)); }
  // Evaluates the rules if they are due. True: they were evaluated.
  bool evaluate(Nanoseconds now);
  void write(Nanoseconds now);
  std::uint64_t suppressed() const;
  // In two steps, as the programs that they run end last.
  void finish_rules() { evaluator_->finish(); }
  void stop();

 private:
  DaemonContext& context_;
  Sampling& sampling_;
  std::unique_ptr<Notifier> notifier_;        // none under another root
  std::unique_ptr<IncidentCapture> capture_;  // likewise
  std::unique_ptr<RuleEvaluator> evaluator_;
  bool is_due_ = false;
  bool is_early_ = false;
};

}  // namespace jetmem
