// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_state_store.h"

#include <algorithm>
#include <utility>

#include "daemon/state_file_metrics.h"

namespace jetmem {

AlertStateStore::AlertStateStore(const std::string& directory, const std::string& boot_id, Log& log)
    : alerts_({.directory = directory,
               .name = "alerts.json",
               .boot_id = boot_id,
               .what = "the state of alerts",
               .format = SavedAlerts::kFormat,
               .max_bytes = SavedAlerts::kMaxBytes},
              log),
      past_({.directory = directory,
             .name = "alerts-past.json",
             .boot_id = boot_id,
             .what = "the samples that rules look back at",
             .format = SavedAlerts::kFormat,
             .max_bytes = SavedAlerts::kMaxBytes},
            log) {}

std::optional<SavedAlerts> AlertStateStore::read(StateFile& file, Nanoseconds now) {
  auto kept = file.load(parse_saved_alerts);
  if (!kept || kept->saved.last_step <= now) return kept;
  file.log_unusable("its timestamp is in the future");
  return std::nullopt;
}

std::optional<SavedAlerts> AlertStateStore::load(Nanoseconds now) {
  auto alerts = read(alerts_, now);
  auto past = read(past_, now);
  if (!alerts) return past;
  if (past) {
    // Had an alert changed between the two, both would be of then.
    alerts->saved.last_step = std::max(alerts->saved.last_step, past->saved.last_step);
    alerts->saved.resumed = alerts->saved.last_step;
    alerts->saved.times = std::move(past->saved.times);
    alerts->saved.series = std::move(past->saved.series);
  }
  return alerts;
}

void AlertStateStore::store(StateFile& file, const SavedAlerts& kept) {
  const auto text = to_text(kept);
  if (!text) return file.cannot_store(text.error().message);
  file.store(*text);
}

void AlertStateStore::write_alerts(const RuleEngine& engine,
                                   const std::vector<std::string>& sources) {
  store(alerts_, {sources, engine.save(false)});
}

void AlertStateStore::write_past(const RuleEngine& engine) {
  SavedAlerts past{{}, engine.save(true)};
  past.saved.alerts.clear();  // the other file has newer ones
  store(past_, past);
}

void AlertStateStore::keep(const RuleEngine& engine, const std::vector<std::string>& sources,
                           Nanoseconds now) {
  if (!is_enabled()) return;
  bool has_alerts = false;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i) {
    const RuleEngine::Evaluation& evaluated = engine.evaluated(i);
    has_alerts |= !evaluated.instances.empty() || !evaluated.unknown.empty();
  }
  // Once more when the last one has ended.
  if (has_alerts || file_has_alerts_) write_alerts(engine, sources);
  file_has_alerts_ = has_alerts;
  if (last_past_ && now - *last_past_ < kPastInterval) return;
  last_past_ = now;
  write_past(engine);
}

void AlertStateStore::finish(const RuleEngine& engine, const std::vector<std::string>& sources) {
  if (!is_enabled()) return;
  write_alerts(engine, sources);
  write_past(engine);
}

void AlertStateStore::write(SampleWriter& out) const {
  write_state_file_failures(out, alerts_);
  write_state_file_failures(out, past_);
}

}  // namespace jetmem
