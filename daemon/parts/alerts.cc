// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/alerts.h"

#include <utility>

namespace jetmem {

Alerts::Alerts(DaemonContext& context, Sampling& sampling, HistoryFeed* history,
               std::function<std::string()> own_address)
    : context_(context), sampling_(sampling) {
  RuleEvaluator::Options options;
  if (context.is_live()) {
    options.runtime_directory = context.runtime_directory;
    options.boot_id = context.own_facts.boot_id.value_or("");
    NotifierOptions notifier;
    notifier.runtime_directory = options.runtime_directory;
    notifier.boot_id = options.boot_id;
    notifier_ = std::make_unique<Notifier>(context.clock, context.spawner, context.log,
                                           std::move(notifier));
    IncidentCaptureOptions capture;
    capture.state_directory = context.state_directory;
    capture.runtime_directory = options.runtime_directory;
    capture.boot_id = options.boot_id;
    capture.config = context.options.config;
    capture.own_address = std::move(own_address);
    capture_ = std::make_unique<IncidentCapture>(context.clock, context.spawner, context.log,
                                                 std::move(capture));
  }
  evaluator_ = std::make_unique<RuleEvaluator>(std::move(options), context.clock, context.log,
                                               *sampling.sampler,
                                               [this, history](const Transition& transition) {
                                                 if (notifier_) notifier_->notify(transition);
                                                 if (history != nullptr)
                                                   history->transition(transition);
                                                 if (capture_) capture_->notify(transition);
                                               });
}

Result<void> Alerts::start() {
  Result<void> ok;
  if (notifier_) ok = notifier_->start(context_.loop);
  if (ok && capture_) ok = capture_->start(context_.loop);
  return ok;
}

bool Alerts::apply(const Settings& settings) {
  if (notifier_) notifier_->apply(settings.alerts, settings.rules.runbook_directory());
  if (capture_) capture_->apply(settings);
  const bool rules_taken = evaluator_->apply(settings.rules);
  if (rules_taken && notifier_) notifier_->begin_with(*evaluator_->engine());
  return rules_taken;
}

bool Alerts::evaluate(Nanoseconds now) {
  bool evaluated = false;
  if (is_due_) {
    evaluated = evaluator_->step(sampling_.table, false, now - now % evaluator_->interval());
    is_due_ = !evaluated;
    is_early_ = is_due_;
  } else if (is_early_ && evaluator_->may_evaluate_early()) {
    evaluated = evaluator_->step(sampling_.table, true);
    is_early_ = false;
  }
  return evaluated;
}

void Alerts::write(Nanoseconds now) {
  SampleWriter out(sampling_.table, sampling_.alerts_section, now);
  evaluator_->write(out);
  if (notifier_) notifier_->write(out);
  if (capture_) capture_->write(out);
}

std::uint64_t Alerts::suppressed() const {
  return evaluator_->suppressed() + (notifier_ ? notifier_->suppressed() : 0) +
         (capture_ ? capture_->suppressed() : 0);
}

void Alerts::stop() {
  if (notifier_) notifier_->finish();
  if (capture_) capture_->stop();
}

}  // namespace jetmem
