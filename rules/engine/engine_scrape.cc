// SPDX-License-Identifier: Apache-2.0
// From the table of values now to the engine.
#include <algorithm>
#include <utility>

#include "rules/engine/engine.h"

namespace jetmem {
namespace {

// As Prometheus would have them: an empty label is none.
Labels labels_of(const SampleTable::Slot& slot) {
  Labels labels;
  const std::size_t first = slot.descriptor->is_pattern() ? 1 : 0;
  for (std::size_t i = first; i < slot.labels.size(); ++i) {
    const std::string& value = slot.labels[i];
    if (!value.empty()) labels.emplace_back(slot.descriptor->labels[i - first], value);
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

void RuleEngine::resolve_series(const SampleTable& table, Nanoseconds now) {
  shape_ = table.shape();
  places_.clear();
  refused_ = 0;
  for (Series& series : series_) {
    series.in_table = false;
    // One from before a restart.
    if (series.seen < Nanoseconds(0)) series.seen = now;
  }
  const auto& sections = table.sections();
  for (std::size_t s = 0; s < sections.size(); ++s) {
    for (std::size_t i = 0; i < sections[s].slots.size(); ++i) {
      const SampleTable::Slot& slot = sections[s].slots[i];
      if (slot.is_duplicate || !mentions(slot.family)) continue;
      const auto id = series(slot.family, labels_of(slot));
      // A second series of the same name and labels is not on the page either.
      if (!id || std::exchange(series_[*id].in_table, true)) continue;
      places_.push_back({s, i, *id});
    }
  }
  gone_.clear();
  for (std::size_t id = 0; id < series_.size(); ++id) {
    if (series_[id].labels && !series_[id].in_table) gone_.push_back(static_cast<SeriesId>(id));
  }
}

void RuleEngine::remove_oldest_absent() {
  const auto oldest = std::min_element(gone_.begin(), gone_.end(), [&](SeriesId a, SeriesId b) {
    return series_[a].seen < series_[b].seen;
  });
  remove(*oldest);
  gone_.erase(oldest);
}

void RuleEngine::scrape(const SampleTable& table, Nanoseconds now, bool provisional) {
  if (shape_ != table.shape()) resolve_series(table, now);
  // What is gone makes room for what is there.
  while (refused_ > 0 && !gone_.empty()) {
    for (std::size_t n = (gone_.size() + 1) / 2; n > 0; --n) remove_oldest_absent();
    resolve_series(table, now);
  }
  begin(now, provisional);
  for (const Location& location : places_) {
    set(location.series, table.sections()[location.section].values[location.slot]);
    series_[location.series].seen = now;
  }
  std::erase_if(gone_, [&](SeriesId id) {
    if (now - series_[id].seen > reach_) {
      remove(id);
      // What was refused may have room now.
      if (refused_ > 0) shape_.reset();
      return true;
    }
    set_stale(id);
    return false;
  });
}

}  // namespace jetmem
