#include "daemon/alert_actions.h"

#include <utility>

#include "health/rules/texts.h"

namespace jetmem {

AlertActions::AlertActions(const Clock& clock, Spawner& spawner, Log& log,
                           CompactionOptions options)
    : hook_(clock, spawner, log,
            {.runtime_directory = options.runtime_directory, .boot_id = options.boot_id}),
      compaction_(clock, spawner, log, std::move(options)) {}

Result<void> AlertActions::start(sd_event* event) {
  if (auto started = hook_.start(event); !started) return started;
  return compaction_.start(event);
}

void AlertActions::apply(const Settings& settings) {
  runbooks_ = settings.rules.runbook_directory();
  hook_.apply(settings.alerts);
  compaction_.apply(settings.alerts);
}

void AlertActions::tell(const Transition& transition) {
  compaction_.tell(transition);
  if (!hook_.on() || !AlertHook::tells(transition.change)) return;
  // What never fired was never told, so nobody waits for its end.
  if (transition.change != Change::kFiring && transition.from != AlertState::kFiring) return;
  tell_hook(transition);
}

void AlertActions::tell_hook(const Transition& transition) {
  if (transition.rule == nullptr) return hook_.tell(alert_news(transition));
  const RuleTexts& texts = transition.rule->texts;
  const ValueUnit unit = value_unit(transition.rule->when.front());
  const auto fill = [&](const std::string& text) {
    return fill_text(text, transition.value, unit, transition.labels);
  };
  AlertNews news = alert_news(transition);
  news.summary = fill(texts.summary);
  news.cause = fill(texts.cause);
  news.remedy = fill(texts.remedy);
  if (!texts.runbook.empty()) news.runbook = runbooks_ + "/" + texts.runbook + ".md";
  hook_.tell(std::move(news));
}

void AlertActions::begin_with(const RuleEngine& engine) {
  compaction_.forget();
  const auto& rules = engine.rules().rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const RuleEngine::Instance& instance : engine.judged(i).instances) {
      if (instance.state != AlertState::kFiring) continue;
      Transition transition;
      transition.rule = &rules[i];
      transition.change = Change::kFiring;
      transition.labels = engine.labels_of(instance);
      transition.value = instance.value;
      transition.at = engine.last_step();
      transition.active_since = instance.active_since;
      compaction_.tell(transition);
      if (!hook_.was_untold(transition.rule->name, transition.labels)) continue;
      transition.at = instance.firing_since;
      tell_hook(transition);
    }
  }
  hook_.forget_untold();
}

void AlertActions::finish() {
  hook_.finish();
  compaction_.stop("jetmemd stops");
}

void AlertActions::write(SampleWriter& out) const {
  hook_.write(out);
  compaction_.write(out);
}

std::vector<std::span<const Descriptor>> AlertActions::metrics() {
  return {alert_hook_metrics(), compaction_metrics()};
}

}  // namespace jetmem
