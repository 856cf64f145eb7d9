// The engine's state over a restart.
#include <algorithm>

#include "health/rules/engine.h"

namespace jetmem {

RuleEngine::Saved RuleEngine::save(bool with_past) const {
  Saved saved;
  saved.last_step = last_step_;
  for (std::size_t r = 0; r < judged_.size(); ++r) {
    for (const Instance& instance : judged_[r].instances) {
      saved.alerts.push_back({rules_.rules[r].name, labels_of(instance), instance});
    }
    for (const Labels& labels : judged_[r].unknown) {
      Instance unknown;
      unknown.state = AlertState::kInactive;
      saved.alerts.push_back({rules_.rules[r].name, labels, unknown});
    }
  }
  if (!with_past) return saved;
  for (const Series& series : series_) {
    if (!series.used || !series.looked_back) continue;
    SavedSeries out{series.metric, labels_[series.identity], {}};
    for (std::size_t i = 0; i < store_.columns_of(series.ring); ++i) {
      const TimedValue sample = store_.column(series.ring, i);
      if (!SeriesStore::is_gap(sample.value)) out.samples.push_back(sample);
    }
    saved.series.push_back(std::move(out));
  }
  return saved;
}

void RuleEngine::restore(const Saved& saved, Nanoseconds now) {
  std::vector<std::int64_t> times;
  for (const SavedSeries& series : saved.series) {
    for (const TimedValue& sample : series.samples) times.push_back(sample.at);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const std::int64_t present = now.count() / 1'000'000;
  while (!times.empty() && times.back() > present) times.pop_back();

  struct Past {
    SeriesId id;
    const SavedSeries* saved;
    std::size_t next = 0;
  };
  std::vector<Past> pasts;
  for (const SavedSeries& series : saved.series) {
    if (const auto id = this->series(series.metric, series.labels)) pasts.push_back({*id, &series});
  }
  for (const std::int64_t time : times) {
    store_.begin(time, false);
    for (Past& past : pasts) {
      const auto& samples = past.saved->samples;
      if (past.next == samples.size() || samples[past.next].at != time) continue;
      const double value = samples[past.next++].value;
      // A stale mark is a NaN, of whatever bits a file gave back.
      if (value == value) {
        set(past.id, value);
      } else {
        set_stale(past.id);
      }
    }
  }
  const Nanoseconds away = std::max(Nanoseconds(0), now - saved.last_step);
  for (const SavedAlert& alert : saved.alerts) {
    for (std::size_t r = 0; r < rules_.rules.size(); ++r) {
      if (rules_.rules[r].name != alert.rule) continue;
      if (alert.instance.state == AlertState::kInactive) {
        if (judged_[r].unknown.size() < kMaxInstances) judged_[r].unknown.push_back(alert.labels);
        continue;
      }
      if (judged_[r].instances.size() == kMaxInstances) continue;
      Instance instance = alert.instance;
      instance.identity = intern(alert.labels);
      if (instance.state == AlertState::kPending) instance.active_since += away;
      judged_[r].instances.push_back(instance);
    }
  }
  last_step_ = saved.last_step;
}

}  // namespace jetmem
