// SPDX-License-Identifier: Apache-2.0
// The engine's series: which condition looks at which.
#include <algorithm>
#include <utility>

#include "rules/engine/engine.h"

namespace jetmem {
namespace {

std::string key_of(std::string_view metric, const Labels& labels) {
  std::string key(metric);
  for (const auto& [name, value] : labels) {
    key.append("\xff").append(name).append("\xfe").append(value);
  }
  return key;
}

// Of a string in a map: its node beside its text.
constexpr std::size_t kNodeBytes = 64;
std::size_t bytes_of(const std::string& key, const Labels& labels) {
  return kNodeBytes + 2 * key.size() + sizeof(Labels) + labels.size() * sizeof(Labels::value_type);
}

}  // namespace

std::string_view RuleEngine::value_of(const Labels& labels, std::string_view name) {
  for (const auto& [label, value] : labels) {
    if (label == name) return value;
  }
  return {};
}

// What absent() gives as labels: those that must be equal to one value.
Labels RuleEngine::labels_of_absent(const Condition& condition) {
  Labels labels;
  for (const LabelMatcher& matcher : condition.labels) {
    if (matcher.equal && matcher.values.size() == 1 && !matcher.values.front().empty()) {
      labels.emplace_back(matcher.label, matcher.values.front());
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

bool RuleEngine::matches(const Condition& condition, const Labels& labels) {
  for (const LabelMatcher& matcher : condition.labels) {
    const std::string_view value = value_of(labels, matcher.label);
    const bool is_one =
        std::find(matcher.values.begin(), matcher.values.end(), value) != matcher.values.end();
    if (is_one != matcher.equal) return false;
  }
  return true;
}

std::optional<RuleEngine::SeriesId> RuleEngine::series(std::string_view metric,
                                                       const Labels& labels) {
  const auto selectors = by_metric_.find(std::string(metric));
  if (selectors == by_metric_.end()) return std::nullopt;
  std::string key = key_of(metric, labels);
  if (const auto at = series_by_key_.find(key); at != series_by_key_.end()) return at->second;

  std::vector<std::pair<std::size_t, std::size_t>> required;
  std::chrono::milliseconds window{0};
  bool reached_back = false;
  for (const auto& [r, c] : selectors->second) {
    const Condition& condition = *selectors_[r][c].condition;
    if (!matches(condition, labels)) continue;
    required.emplace_back(r, c);
    window = std::max(window, condition.window);
    reached_back |= condition.window.count() > 0;
  }
  if (required.empty()) return std::nullopt;
  const std::size_t bytes = sizeof(Series) + bytes_of(key, labels) + store_.bytes_for(window) +
                            required.size() * sizeof(SeriesId);
  if (this->bytes() + bytes > options_.memory) {
    ++refused_;
    return std::nullopt;
  }
  SeriesId id = static_cast<SeriesId>(series_.size());
  if (free_series_.empty()) {
    series_.emplace_back();
  } else {
    id = free_series_.back();
    free_series_.pop_back();
  }
  series_[id] = {store_.ring(window),
                 std::make_shared<const Labels>(labels),
                 std::string(metric),
                 reached_back,
                 bytes,
                 false,
                 Nanoseconds(-1)};
  series_bytes_ += bytes;
  series_by_key_.emplace(std::move(key), id);
  for (const auto& [r, c] : required) selectors_[r][c].members.push_back(id);
  return id;
}

void RuleEngine::remove(SeriesId id) {
  Series& series = series_[id];
  series_by_key_.erase(key_of(series.metric, *series.labels));
  for (const auto& [r, c] : by_metric_.at(series.metric)) std::erase(selectors_[r][c].members, id);
  series_bytes_ -= series.bytes;
  series = Series();
  free_series_.push_back(id);
}

std::vector<std::pair<Labels, double>> RuleEngine::values_of(const Condition& condition) {
  std::vector<std::pair<Labels, double>> out;
  for (const std::vector<Selector>& of_rule : selectors_) {
    for (const Selector& selector : of_rule) {
      if (selector.condition != &condition) continue;
      for (const SeriesId member : selector.members) {
        if (const auto found = value(condition, member)) {
          out.emplace_back(*series_[member].labels, *found);
        }
      }
      if (condition.function != Function::kAbsent) continue;
      if (out.empty()) {
        out.emplace_back(labels_of_absent(condition), 1);
      } else {
        out.clear();
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace jetmem
