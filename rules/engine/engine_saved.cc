// SPDX-License-Identifier: Apache-2.0
// The engine's state over a restart.
#include <algorithm>

#include "rules/engine/engine.h"

namespace jetmem {

RuleEngine::Saved RuleEngine::save(bool with_past) const {
  Saved saved;
  saved.last_step = last_step_;
  saved.resumed = std::max(last_step_, resumed_);
  for (std::size_t r = 0; r < evaluated_.size(); ++r) {
    const Rule& rule = rules_.rules[r];
    for (const Instance& instance : evaluated_[r].instances) {
      saved.alerts.push_back({rule.name, rule.severity, false, instance});
    }
    for (const Unknown& unknown : evaluated_[r].unknown) {
      Instance instance;
      instance.labels = unknown.labels;
      instance.state = unknown.from;
      instance.value = unknown.value;
      saved.alerts.push_back({rule.name, rule.severity, true, instance});
    }
  }
  if (!with_past) return saved;
  for (const Series& series : series_) {
    if (!series.labels || !series.reached_back) continue;
    std::vector<std::int64_t> times;
    std::vector<double> values;
    for (std::size_t i = 0; i < store_.saved_columns_of(series.ring); ++i) {
      const TimedValue sample = store_.column(series.ring, i);
      times.push_back(sample.at);
      // What was before its first value need not be said.
      if (!values.empty() || !SeriesStore::is_gap(sample.value)) values.push_back(sample.value);
    }
    if (times.size() > saved.times.size()) saved.times = std::move(times);
    saved.series.push_back({series.metric, *series.labels, std::move(values)});
  }
  return saved;
}

void RuleEngine::restore_past(const Saved& saved, Nanoseconds now) {
  std::span<const std::int64_t> times(saved.times);
  const std::int64_t present = now.count() / 1'000'000;
  while (!times.empty() && times.back() > present) times = times.first(times.size() - 1);
  const std::vector<bool> keep = store_.on_grid(times);

  std::vector<std::pair<SeriesId, const SavedSeries*>> pasts;
  for (const SavedSeries& series : saved.series) {
    if (series.values.size() > saved.times.size()) continue;
    if (const auto id = this->series(series.metric, series.labels)) {
      pasts.emplace_back(*id, &series);
    }
  }
  for (std::size_t t = 0; t < times.size(); ++t) {
    if (!keep[t]) continue;
    begin(std::chrono::milliseconds(times[t]));
    for (const auto& [id, series] : pasts) {
      const std::size_t before = saved.times.size() - series->values.size();
      if (t < before) continue;
      const double value = series->values[t - before];
      if (SeriesStore::is_gap(value)) continue;
      // A stale mark is a NaN, of whatever bits.
      if (value == value) {
        set(id, value);
      } else {
        set_stale(id);
      }
    }
  }
}

void RuleEngine::restore(const Saved& saved, Nanoseconds now) {
  restore_past(saved, now);
  const Nanoseconds away = std::max(Nanoseconds(0), now - std::max(saved.last_step, saved.resumed));
  for (const SavedAlert& alert : saved.alerts) {
    for (std::size_t r = 0; r < rules_.rules.size(); ++r) {
      if (rules_.rules[r].name != alert.rule) continue;
      Evaluation& evaluated = evaluated_[r];
      Instance instance = alert.instance;
      // A file may have one twice.
      const auto is_it = [&](const auto& other) { return are_same(other.labels, instance.labels); };
      if (alert.is_unknown) {
        const bool is_there =
            std::any_of(evaluated.unknown.begin(), evaluated.unknown.end(), is_it);
        if (is_there || evaluated.unknown.size() == kMaxInstances) continue;
        evaluated.unknown.push_back({instance.labels, instance.state, instance.value});
        continue;
      }
      const bool is_there =
          std::any_of(evaluated.instances.begin(), evaluated.instances.end(), is_it);
      if (is_there || evaluated.instances.size() == kMaxInstances) continue;
      if (instance.state == AlertState::kPending) instance.active_since += away;
      evaluated.instances.push_back(instance);
    }
  }
  last_step_ = saved.last_step;
  resumed_ = std::max({saved.last_step, saved.resumed, now});
}

}  // namespace jetmem
