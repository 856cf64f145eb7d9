// SPDX-License-Identifier: Apache-2.0
// Evaluates rules step by step, as a Prometheus would that scraped just before each step and
// evaluated the rules' PromQL (promql.h) in one group: the same values, the same alerts, at the
// same steps.
//
// A step: scrape(), or begin() and set() or set_stale() for each series; then evaluate(). What a
// step finds stays until the next one, to be asked for. Nothing here allocates while neither series
// nor alerts come or go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "metrics/sample.h"
#include "rules/engine/series_store.h"
#include "rules/engine/transition.h"
#include "rules/model/rules.h"
#include "rules/model/texts.h"

namespace jetmem {

// Whether a rule's sources can be looked at: for the one thing that Prometheus cannot know, that an
// alert ended because nobody sees any more.
class SourceVisibility {
 public:
  virtual ~SourceVisibility() = default;
  // Why a source that this metric needs cannot be read ("source thermal is denied"); empty when
  // it is not.
  virtual std::string_view blind(std::string_view metric) const = 0;
  // The same of one series that is gone: also where its source is seen, and only this is missing.
  virtual std::string_view partly_blind(std::string_view metric, const Labels&) const {
    return blind(metric);
  }
  // Whether that is only because a source is still to give its first reading since a start or a
  // pause: an alert of before is neither ended nor goes on until then.
  virtual bool is_awaited(std::string_view) const { return false; }
};

class RuleEngine {
 public:
  struct Options {
    std::chrono::milliseconds interval{15'000};
    std::size_t memory = 2U << 20;
  };
  // Alerts of one rule at a time; further ones are counted.
  static constexpr std::size_t kMaxInstances = 64;

  RuleEngine(RuleSet rules, Options options);
  RuleEngine(const RuleEngine&) = delete;
  RuleEngine& operator=(const RuleEngine&) = delete;

  const RuleSet& rules() const { return rules_; }
  std::chrono::milliseconds interval() const { return options_.interval; }

  using SeriesId = std::uint32_t;
  // Whether any rule mentions a metric of this name.
  bool mentions(std::string_view metric) const;
  // The series of these labels (sorted by name, none empty), found or made. Nothing when no rule
  // mentions it, or when there is no memory for it: then it is counted.
  std::optional<SeriesId> series(std::string_view metric, const Labels& labels);
  // A series that will not come back: its past and its place are given free.
  void remove(SeriesId id);
  std::size_t refused_series() const { return refused_; }
  std::size_t series_count() const { return series_.size() - free_series_.size(); }
  std::size_t bytes() const { return store_.bytes() + series_bytes_; }

  // Opens the step at `now` with the table's values of all series that rules mention; one that
  // ended is stale.
  void scrape(const SampleTable& table, Nanoseconds now, bool provisional = false);
  void begin(Nanoseconds now, bool provisional = false);
  void set(SeriesId id, double value) { store_.set(series_[id].ring, value); }
  void set_stale(SeriesId id) { store_.set_stale(series_[id].ring); }
  // What changed is in transitions() until the next step.
  void evaluate(const SourceVisibility* blindness = nullptr);
  const std::vector<Transition>& transitions() const { return transitions_; }

  // Those of a series and of its alerts, which may outlive it.
  using SharedLabels = std::shared_ptr<const Labels>;
  struct Instance {
    SharedLabels labels;
    AlertState state = AlertState::kPending;
    Nanoseconds active_since{0};
    Nanoseconds firing_since{0};
    std::optional<Nanoseconds> ended;  // keep_firing_for counts from here
    double value = 0;
  };
  // An alert that ended because its source went blind, as it was then.
  struct Unknown {
    SharedLabels labels;
    AlertState from = AlertState::kFiring;
    double value = 0;
    // It fired and is pending again: whoever was notified of the firing must be notified of its
    // end.
    bool is_pending_again = false;
  };
  // What the last step found of a condition.
  struct Seen {
    std::size_t series = 0;   // that have a value
    std::size_t there = 0;    // that are there now: a window has a value for longer
    std::size_t holding = 0;  // of them, beyond the threshold
    // The value nearest to its threshold or furthest beyond it, and whose it is.
    std::optional<double> worst;
    SharedLabels worst_labels;
  };
  struct Evaluation {
    std::vector<Instance> instances;  // none inactive
    std::vector<Seen> conditions;
    // Why it cannot be evaluated: a source is blind and a condition has no series at all.
    std::string blind;
    bool inhibited = false;          // by an alert in `unless`
    std::uint64_t dropped = 0;       // alerts beyond kMaxInstances, since the start
    std::uint64_t not_followed = 0;  // of them now
    std::vector<Unknown> unknown;
    AlertState state() const;
    bool has_unknown() const {
      return std::any_of(unknown.begin(), unknown.end(),
                         [](const Unknown& each) { return !each.is_pending_again; });
    }
  };
  const Evaluation& evaluated(std::size_t rule) const { return evaluated_[rule]; }
  Nanoseconds last_step() const { return last_step_; }
  std::uint64_t steps() const { return steps_; }

  // For tests: the values of a condition in the last step, without its comparison.
  std::vector<std::pair<Labels, double>> values_of(const Condition& condition);

  // For keeping it over a restart.
  struct SavedAlert {
    std::string rule;
    Severity severity = Severity::kInfo;
    bool is_unknown =
        false;  // one of Evaluated::unknown: of the instance only labels, state and value count
    Instance instance;
  };
  struct SavedSeries {
    std::string metric;
    Labels labels;
    // At the last ones of Saved::times: a value, SeriesStore::gap() or another NaN: stale.
    std::vector<double> values;
  };
  struct Saved {
    Nanoseconds last_step{-1};
    // Until when the time away was taken out of `for`.
    Nanoseconds resumed{-1};
    std::vector<SavedAlert> alerts;
    std::vector<std::int64_t> times;  // milliseconds, rising
    std::vector<SavedSeries> series;
  };
  // `with_past`: also the samples of series that functions look back at.
  Saved save(bool with_past) const;
  // Before the first step. Alerts of removed rules are forgotten. The time from the last
  // step until now does not count towards `for`, as Prometheus has it after a restart.
  void restore(const Saved& saved, Nanoseconds now);

 private:
  // One for each condition of each rule.
  struct Selector {
    const Rule* rule = nullptr;
    const Condition* condition = nullptr;
    std::vector<SeriesId> members;
    SharedLabels absent;  // of the alert of an absent()
  };
  struct Series {
    SeriesStore::Ring ring;
    SharedLabels labels;  // null: a free place
    std::string metric;
    bool reached_back = false;  // by a function
    std::size_t bytes = 0;      // that it takes in all
    bool in_table = false;
    Nanoseconds seen{-1};  // when it was in the table last
  };
  struct Location {
    std::size_t section = 0;
    std::size_t slot = 0;
    SeriesId series = 0;
  };
  struct Row {
    const SharedLabels* labels = nullptr;
    double value = 0;
    bool start = false;  // beyond the threshold
    bool hold = false;   // beyond the threshold to stop at
  };

  static bool matches(const Condition& condition, const Labels& labels);
  static bool are_same(const SharedLabels& a, const SharedLabels& b) { return a == b || *a == *b; }
  static Labels labels_of_absent(const Condition& condition);
  void resolve_series(const SampleTable& table, Nanoseconds now);
  void remove_oldest_absent();
  // Empty where it is none of them.
  static std::string_view value_of(const Labels& labels, std::string_view name);
  std::optional<double> value(const Condition& condition, SeriesId id);
  void evaluate_rule(std::size_t index, const SourceVisibility* blindness);
  void evaluate_first(std::size_t index);
  void evaluate_other(std::size_t index, std::size_t condition);
  void see(Seen& seen, const Condition& condition, double value, const SharedLabels& labels) const;
  bool is_inhibited(std::size_t index) const;
  bool is_firing(std::size_t index, std::size_t seen_from) const;
  void advance(std::size_t index, const SourceVisibility* blindness);
  void begin_alerts(std::size_t index);
  bool is_there(SeriesId id) const;
  bool end(Instance& instance, std::size_t index, const SourceVisibility* blindness);
  void end_unknown(std::size_t index, const SourceVisibility* blindness);
  void emit_transition(std::size_t index, Change change, const Instance& instance,
                       std::string reason = {});
  const Condition* unseen(std::size_t index, const Instance& instance,
                          const SourceVisibility* blindness);
  void restore_past(const Saved& saved, Nanoseconds now);
  std::optional<SeriesId> member_of(std::size_t index, const Labels& labels) const;

  const RuleSet rules_;
  const Options options_;
  const std::chrono::milliseconds reach_;  // the furthest that any rule looks back
  SeriesStore store_;
  std::vector<std::vector<Selector>> selectors_;  // by rule, by condition
  // The selectors of a metric: rule and condition.
  std::unordered_map<std::string, std::vector<std::pair<std::size_t, std::size_t>>> by_metric_;
  std::vector<std::vector<std::size_t>> unless_;  // by rule: rules that silence it
  std::vector<bool> has_clear_;
  std::vector<Series> series_;
  std::vector<SeriesId> free_series_;
  std::unordered_map<std::string, SeriesId> series_by_key_;
  std::size_t series_bytes_ = 0;
  std::size_t refused_ = 0;
  // Of the table that was scraped last.
  std::vector<Location> places_;
  std::vector<SeriesId> gone_;
  std::optional<std::uint64_t> shape_;

  std::vector<Evaluation> evaluated_;
  std::vector<Transition> transitions_;
  Nanoseconds last_step_{-1};
  Nanoseconds resumed_{-1};  // restored then
  Nanoseconds step_{0};
  bool provisional_ = false;
  bool earlier_is_seen_ = false;  // the last step is not too long ago for ALERTS to be found
  std::uint64_t steps_ = 0;
  std::vector<Row> rows_;
  // Of a later condition: whose values hold, sorted by the labels of its `on`.
  std::vector<const Labels*> start_;
  std::vector<const Labels*> hold_;
  std::vector<TimedValue> window_;
};

}  // namespace jetmem
