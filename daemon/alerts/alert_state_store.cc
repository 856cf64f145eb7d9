// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_state_store.h"

#include <algorithm>
#include <utility>

#include "daemon/state_file_metrics.h"

namespace jetmem {
namespace {

// Another one when any alert is another, its value aside.
std::uint64_t alerts_digest(const RuleEngine& engine, std::size_t sources) {
  std::uint64_t digest = 0xcbf2'9ce4'8422'2325;
  const auto add = [&](std::uint64_t number) { digest = (digest ^ number) * 0x100'0000'01b3; };
  add(sources);
  for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
    for (const RuleEngine::Instance& instance : engine.evaluated(r).instances) {
      add(r + 1);
      add(instance.identity);
      add(static_cast<std::uint64_t>(instance.state));
      add(static_cast<std::uint64_t>(instance.firing_since.count()));
      add(static_cast<std::uint64_t>(instance.ended.value_or(Nanoseconds(-1)).count()));
    }
    add(engine.evaluated(r).unknown.size());
  }
  return digest;
}

}  // namespace

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

void AlertStateStore::store(StateFile& file, const SavedAlerts& kept, const RuleEngine* past) {
  const auto written = write_saved_alerts(kept, past, text_);
  if (past != nullptr) past_bytes_ = text_.size();
  if (!written) return file.cannot_store(written.error().message);
  file.store(text_);
}

void AlertStateStore::write_alerts(const RuleEngine& engine,
                                   const std::vector<std::string>& sources) {
  store(alerts_, {sources, engine.save(false)}, nullptr);
}

void AlertStateStore::write_past(const RuleEngine& engine) {
  const auto [series, values] = engine.past_size();
  // No value takes less than two bytes; the last file shows how much they take here.
  const std::size_t expected =
      std::max(values * 2, past_values_ == 0 ? 0 : values * past_bytes_ / past_values_);
  if (expected > SavedAlerts::kMaxBytes) {
    return past_.cannot_store(std::to_string(values) + " values of " + std::to_string(series) +
                              " series take more than 2 MiB");
  }
  SavedAlerts head;
  head.saved.last_step = engine.last_step();
  past_values_ = values;
  store(past_, head, &engine);
}

void AlertStateStore::keep(const RuleEngine& engine, const std::vector<std::string>& sources,
                           Nanoseconds now) {
  if (!is_enabled()) return;
  bool has_alerts = false;
  bool has_pending = false;
  for (std::size_t i = 0; i < engine.rules().rules.size(); ++i) {
    const RuleEngine::Evaluation& evaluated = engine.evaluated(i);
    has_alerts |= !evaluated.instances.empty() || !evaluated.unknown.empty();
    for (const RuleEngine::Instance& instance : evaluated.instances) {
      has_pending |= instance.state == AlertState::kPending;
    }
  }
  // Once more when the last one has ended.
  if (has_alerts || file_has_alerts_) {
    const std::uint64_t digest = alerts_digest(engine, sources.size());
    // Of one that is pending, each step counts.
    if (written_ != digest || has_pending || !engine.transitions().empty() ||
        alerts_.last_store_failed() || now - last_alerts_ >= kAlertsInterval) {
      written_ = digest;
      last_alerts_ = now;
      write_alerts(engine, sources);
    }
  }
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
