// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/table_feed.h"

#include <algorithm>

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

void TableFeed::resolve_series(const SampleTable& table, Nanoseconds now) {
  shape_ = table.shape();
  places_.clear();
  engine_.forget_refused();
  for (Known& known : known_) known.there = false;
  // Some may be from before a restart.
  known_.resize(engine_.series_end(), {false, now});
  const auto& sections = table.sections();
  for (std::size_t s = 0; s < sections.size(); ++s) {
    for (std::size_t i = 0; i < sections[s].slots.size(); ++i) {
      const SampleTable::Slot& slot = sections[s].slots[i];
      if (slot.is_duplicate || !engine_.mentions(slot.family)) continue;
      const auto id = engine_.series(slot.family, labels_of(slot));
      if (!id) continue;
      known_.resize(engine_.series_end(), {false, now});
      // A second series of the same name and labels is not on the page either.
      if (known_[*id].there) continue;
      known_[*id].there = true;
      places_.push_back({s, i, *id});
    }
  }
  gone_.clear();
  for (std::size_t id = 0; id < known_.size(); ++id) {
    if (!known_[id].there && engine_.is_series(static_cast<RuleEngine::SeriesId>(id))) {
      gone_.push_back(static_cast<RuleEngine::SeriesId>(id));
    }
  }
}

void TableFeed::remove_oldest_absent() {
  const auto longest = std::min_element(gone_.begin(), gone_.end(),
                                        [&](RuleEngine::SeriesId a, RuleEngine::SeriesId b) {
                                          return known_[a].last < known_[b].last;
                                        });
  engine_.remove(*longest);
  known_[*longest] = Known();
  gone_.erase(longest);
}

void TableFeed::scrape(const SampleTable& table, Nanoseconds now, bool provisional) {
  if (shape_ != table.shape()) resolve_series(table, now);
  // What is gone makes room for what is there.
  while (engine_.refused_series() > 0 && !gone_.empty()) {
    for (std::size_t n = (gone_.size() + 1) / 2; n > 0; --n) remove_oldest_absent();
    resolve_series(table, now);
  }
  engine_.begin(now, provisional);
  for (const Location& location : places_) {
    engine_.set(location.series, table.sections()[location.section].values[location.slot]);
    known_[location.series].last = now;
  }
  std::erase_if(gone_, [&](RuleEngine::SeriesId id) {
    if (now - known_[id].last > engine_.reach()) {
      engine_.remove(id);
      known_[id] = Known();
      // What was refused may have room now.
      if (engine_.refused_series() > 0) shape_.reset();
      return true;
    }
    engine_.set_stale(id);
    return false;
  });
}

}  // namespace jetmem
