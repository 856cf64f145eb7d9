// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace jetmem {
namespace {

constexpr Nanoseconds kLookback = std::chrono::milliseconds(SeriesStore::kLookback);

std::int64_t milliseconds_of(Nanoseconds t) { return t.count() / 1'000'000; }

std::chrono::milliseconds longest_window(const RuleSet& rules) {
  std::chrono::milliseconds longest{SeriesStore::kLookback};
  for (const Rule& rule : rules.rules) {
    for (const Condition& condition : rule.when) longest = std::max(longest, condition.window);
  }
  return longest;
}

bool holds(const Condition& condition, double value, bool to_stop) {
  if (!condition.comparison) return true;
  const Threshold& threshold = to_stop && condition.clear ? *condition.clear : condition.threshold;
  return compare(value, *condition.comparison, threshold.value);
}

}  // namespace

AlertState RuleEngine::Evaluation::state() const {
  AlertState state = AlertState::kInactive;
  for (const Instance& instance : instances) state = std::max(state, instance.state);
  return state;
}

RuleEngine::RuleEngine(RuleSet rules, Options options)
    : rules_(std::move(rules)),
      options_(options),
      reach_(longest_window(rules_)),
      store_(options.interval, reach_) {
  const std::size_t n = rules_.rules.size();
  selectors_.resize(n);
  unless_.resize(n);
  evaluated_.resize(n);
  has_clear_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    const Rule& rule = rules_.rules[r];
    for (std::size_t c = 0; c < rule.when.size(); ++c) {
      Selector selector{&rule, &rule.when[c], {}, {}};
      if (c == 0) selector.absent = std::make_shared<const Labels>(labels_of_absent(rule.when[0]));
      selectors_[r].push_back(std::move(selector));
      by_metric_[rule.when[c].metric].emplace_back(r, c);
      if (rule.when[c].clear) has_clear_[r] = true;
    }
    evaluated_[r].conditions.resize(rule.when.size());
    for (std::size_t other = 0; other < n; ++other) {
      const std::string& name = rules_.rules[other].name;
      if (std::find(rule.unless.begin(), rule.unless.end(), name) != rule.unless.end()) {
        unless_[r].push_back(other);
      }
    }
  }
}

bool RuleEngine::mentions(std::string_view metric) const {
  return by_metric_.find(std::string(metric)) != by_metric_.end();
}

void RuleEngine::begin(Nanoseconds now, bool provisional) {
  step_ = now;
  provisional_ = provisional;
  store_.begin(milliseconds_of(now), provisional);
  for (Series& series : series_) {
    if (series.labels) store_.set_gap(series.ring);
  }
}

std::optional<double> RuleEngine::value(const Condition& condition, SeriesId id) {
  const SeriesStore::Ring& ring = series_[id].ring;
  if (condition.window.count() == 0) return store_.now(ring);
  store_.collect(ring, condition.window, window_);
  if (window_.empty()) return std::nullopt;
  return over_window(condition.function, window_, store_.time(), condition.window, condition.ahead);
}

void RuleEngine::evaluate(const SourceVisibility* blindness) {
  transitions_.clear();
  earlier_is_seen_ = last_step_ >= Nanoseconds(0) && step_ - last_step_ <= kLookback;
  for (std::size_t r = 0; r < selectors_.size(); ++r) evaluate_rule(r, blindness);
  last_step_ = step_;
  ++steps_;
}

void RuleEngine::see(Seen& seen, const Condition& condition, double value,
                     const SharedLabels& labels) const {
  ++seen.series;
  if (holds(condition, value, false)) ++seen.holding;
  bool is_worse = !seen.worst || std::isnan(*seen.worst);
  if (!is_worse && condition.comparison) {
    const Comparison c = *condition.comparison;
    const bool upwards = c == Comparison::kAbove || c == Comparison::kAtLeast;
    const bool downwards = c == Comparison::kBelow || c == Comparison::kAtMost;
    if (upwards) is_worse = value > *seen.worst;
    if (downwards) is_worse = value < *seen.worst;
    if (!upwards && !downwards) {
      is_worse = holds(condition, value, false) && !holds(condition, *seen.worst, false);
    }
  }
  if (!is_worse) return;
  seen.worst = value;
  seen.worst_labels = labels;
}

void RuleEngine::evaluate_first(std::size_t index) {
  const Selector& selector = selectors_[index][0];
  const Condition& condition = *selector.condition;
  Seen& seen = evaluated_[index].conditions[0];
  rows_.clear();
  for (const SeriesId member : selector.members) {
    if (is_there(member)) ++seen.there;
    const auto found = value(condition, member);
    if (!found) continue;
    const SharedLabels& labels = series_[member].labels;
    see(seen, condition, *found, labels);
    rows_.push_back(
        {&labels, *found, holds(condition, *found, false), holds(condition, *found, true)});
  }
  if (condition.function != Function::kAbsent) return;
  const bool is_absent = seen.series == 0;
  rows_.clear();
  seen.holding = is_absent ? 1 : 0;
  if (is_absent) rows_.push_back({&selector.absent, 1, true, true});
}

void RuleEngine::evaluate_other(std::size_t index, std::size_t c) {
  const Selector& selector = selectors_[index][c];
  const Condition& condition = *selector.condition;
  Seen& seen = evaluated_[index].conditions[c];
  start_.clear();
  hold_.clear();
  for (const SeriesId member : selector.members) {
    if (is_there(member)) ++seen.there;
    const auto found = value(condition, member);
    if (!found) continue;
    const SharedLabels& labels = series_[member].labels;
    see(seen, condition, *found, labels);
    if (holds(condition, *found, false)) start_.push_back(labels.get());
    if (holds(condition, *found, true)) hold_.push_back(labels.get());
  }
  const bool is_absent = condition.function == Function::kAbsent;
  if (is_absent) seen.holding = seen.series == 0 ? 1 : 0;
  const auto is_before = [&](const Labels* a, const Labels* b) {
    for (const std::string& name : condition.on) {
      const int order = value_of(*a, name).compare(value_of(*b, name));
      if (order != 0) return order < 0;
    }
    return false;
  };
  std::sort(start_.begin(), start_.end(), is_before);
  std::sort(hold_.begin(), hold_.end(), is_before);
  for (Row& row : rows_) {
    const auto is_tied = [&](const std::vector<const Labels*>& ties) {
      if (is_absent) return seen.holding > 0;
      if (condition.on.empty()) return !ties.empty();
      return std::binary_search(ties.begin(), ties.end(), row.labels->get(), is_before);
    };
    row.start = row.start && is_tied(start_);
    row.hold = row.hold && is_tied(hold_);
  }
}

bool RuleEngine::is_firing(std::size_t index, std::size_t seen_from) const {
  // Rules before this one were evaluated in this step already; the others' ALERTS are of the last.
  if (index >= seen_from && !earlier_is_seen_) return false;
  for (const Instance& instance : evaluated_[index].instances) {
    if (instance.state == AlertState::kFiring) return true;
  }
  return false;
}

bool RuleEngine::is_inhibited(std::size_t index) const {
  return std::any_of(unless_[index].begin(), unless_[index].end(),
                     [&](std::size_t other) { return is_firing(other, index); });
}

void RuleEngine::evaluate_rule(std::size_t index, const SourceVisibility* blindness) {
  Evaluation& evaluated = evaluated_[index];
  for (Seen& seen : evaluated.conditions) seen = Seen();
  evaluate_first(index);
  for (std::size_t c = 1; c < selectors_[index].size(); ++c) evaluate_other(index, c);

  // Held by its own ALERTS series where it fires.
  for (Row& row : rows_) {
    bool held = false;
    if (has_clear_[index] && row.hold && !row.start && earlier_is_seen_) {
      for (const Instance& instance : evaluated.instances) {
        held |= instance.state == AlertState::kFiring && are_same(instance.labels, *row.labels);
      }
    }
    row.hold = row.start || held;
  }
  evaluated.inhibited = is_inhibited(index);

  evaluated.blind.clear();
  if (blindness != nullptr) {
    for (std::size_t c = 0; c < evaluated.conditions.size(); ++c) {
      if (evaluated.conditions[c].there > 0) continue;
      evaluated.blind = blindness->blind(rules_.rules[index].when[c].metric);
      if (!evaluated.blind.empty()) break;
    }
  }
  advance(index, blindness);
  if (!provisional_) end_unknown(index, blindness);
}

std::optional<RuleEngine::SeriesId> RuleEngine::member_of(std::size_t index,
                                                          const Labels& labels) const {
  for (const SeriesId member : selectors_[index][0].members) {
    if (*series_[member].labels == labels) return member;
  }
  return std::nullopt;
}

// Of an alert whose conditions do not hold: the one whose source is blind, so that nobody can tell
// whether they would. Null where what was seen is enough to say that they do not.
const Condition* RuleEngine::unseen(std::size_t index, const Instance& instance,
                                    const SourceVisibility* blindness) {
  if (blindness == nullptr) return nullptr;
  const std::vector<Condition>& conditions = rules_.rules[index].when;
  const std::vector<Seen>& seen = evaluated_[index].conditions;
  if (conditions[0].function == Function::kAbsent) {
    if (seen[0].series > 0) return nullptr;
  } else {
    const auto member = member_of(index, *instance.labels);
    const auto now = member ? value(conditions[0], *member) : std::nullopt;
    // What a window still has of a series that is gone says nothing about now.
    if (!now || !is_there(*member)) {
      const std::string_view why = blindness->partly_blind(conditions[0].metric, *instance.labels);
      return why.empty() ? nullptr : conditions.data();
    }
    if (!holds(conditions[0], *now, has_clear_[index])) return nullptr;
  }
  for (std::size_t c = 1; c < conditions.size(); ++c) {
    if (seen[c].there > 0 || conditions[c].function == Function::kAbsent) continue;
    if (!blindness->blind(conditions[c].metric).empty()) return &conditions[c];
  }
  return nullptr;
}

// AlertingRule.Eval of Prometheus' rules/alerting.go. A step before its time only begins alerts:
// what it saw is replaced by the grid's, and must have ended nothing.
void RuleEngine::advance(std::size_t index, const SourceVisibility* blindness) {
  const Rule& rule = rules_.rules[index];
  Evaluation& evaluated = evaluated_[index];
  const auto row_of = [&](const Instance& instance) -> const Row* {
    if (evaluated.inhibited) return nullptr;
    for (const Row& row : rows_) {
      if (row.hold && are_same(instance.labels, *row.labels)) return &row;
    }
    return nullptr;
  };
  // What ends makes room for what begins.
  for (std::size_t i = 0; i < evaluated.instances.size();) {
    Instance& instance = evaluated.instances[i];
    if (const Row* row = row_of(instance)) {
      instance.value = row->value;
      if (!provisional_) instance.ended.reset();
    } else if (!provisional_ && end(instance, index, blindness)) {
      evaluated.instances.erase(evaluated.instances.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    ++i;
  }
  if (!evaluated.inhibited) begin_alerts(index);
  for (Instance& instance : evaluated.instances) {
    if (instance.state != AlertState::kPending || step_ - instance.active_since < rule.hold)
      continue;
    if (provisional_ && rule.hold.count() > 0) continue;
    instance.state = AlertState::kFiring;
    instance.firing_since = step_;
    emit_transition(index, Change::kFiring, instance);
  }
}

void RuleEngine::begin_alerts(std::size_t index) {
  Evaluation& evaluated = evaluated_[index];
  std::uint64_t too_many = 0;
  for (const Row& row : rows_) {
    if (!row.hold) continue;
    const bool is_known = std::any_of(
        evaluated.instances.begin(), evaluated.instances.end(),
        [&](const Instance& instance) { return are_same(instance.labels, *row.labels); });
    if (is_known) continue;
    if (evaluated.instances.size() == kMaxInstances) {
      ++too_many;
      continue;
    }
    Instance instance;
    instance.labels = *row.labels;
    instance.active_since = step_;
    instance.value = row.value;
    evaluated.instances.push_back(instance);
    if (rules_.rules[index].hold.count() > 0) emit_transition(index, Change::kPending, instance);
  }
  // Counted when they come, not in each step.
  if (too_many > evaluated.not_followed) evaluated.dropped += too_many - evaluated.not_followed;
  evaluated.not_followed = too_many;
}

bool RuleEngine::is_there(SeriesId id) const { return store_.now(series_[id].ring).has_value(); }

// Its conditions do not hold in this step. False: it is kept firing a while.
bool RuleEngine::end(Instance& instance, std::size_t index, const SourceVisibility* blindness) {
  const Rule& rule = rules_.rules[index];
  Evaluation& evaluated = evaluated_[index];
  const Condition* blind = unseen(index, instance, blindness);
  if (blind != nullptr && blindness->is_awaited(blind->metric)) {
    // Nobody saw it meanwhile: that does not count towards `for`.
    const Nanoseconds counted = std::max(last_step_, resumed_);
    if (instance.state == AlertState::kPending && counted >= Nanoseconds(0)) {
      instance.active_since += step_ - counted;
    }
    return false;
  }
  if (instance.state == AlertState::kFiring && rule.keep_firing_for.count() > 0) {
    if (!instance.ended) instance.ended = step_;
    if (step_ - *instance.ended < rule.keep_firing_for) return false;
  }
  if (blind != nullptr) {
    emit_transition(index, Change::kUnknown, instance,
                    std::string(blindness->partly_blind(blind->metric, *instance.labels)));
    // It is followed no further, so there is room: at most as many as there are alerts at a time.
    const bool is_known = std::any_of(
        evaluated.unknown.begin(), evaluated.unknown.end(),
        [&](const Unknown& unknown) { return are_same(unknown.labels, instance.labels); });
    if (!is_known && evaluated.unknown.size() < kMaxInstances) {
      evaluated.unknown.push_back({instance.labels, instance.state, instance.value});
    }
  } else if (evaluated.inhibited) {
    std::string by;
    for (const std::size_t other : unless_[index]) {
      if (is_firing(other, index)) by = rules_.rules[other].name + " fires";
    }
    emit_transition(index, Change::kInhibited, instance, std::move(by));
  } else {
    emit_transition(index,
                    instance.state == AlertState::kFiring ? Change::kResolved : Change::kCleared,
                    instance);
  }
  return true;
}

// What was unknown is known again: either it is an alert again, or it can be called resolved now,
// or dropped where it never fired.
void RuleEngine::end_unknown(std::size_t index, const SourceVisibility* blindness) {
  Evaluation& evaluated = evaluated_[index];
  const Condition& first = rules_.rules[index].when[0];
  std::erase_if(evaluated.unknown, [&](Unknown& unknown) {
    unknown.is_pending_again = false;
    for (const Instance& instance : evaluated.instances) {
      if (!are_same(instance.labels, unknown.labels)) continue;
      if (unknown.from != AlertState::kFiring || instance.state == AlertState::kFiring) return true;
      unknown.is_pending_again = true;
      return false;
    }
    if (!evaluated.blind.empty()) return false;
    Instance instance;
    instance.state = unknown.from;
    instance.active_since = step_;
    instance.labels = unknown.labels;
    instance.value = unknown.value;
    const auto member = member_of(index, *unknown.labels);
    const auto now = member ? value(first, *member) : std::nullopt;
    if (!now && blindness != nullptr &&
        !blindness->partly_blind(first.metric, *unknown.labels).empty()) {
      return false;
    }
    // It is there, and will have a value when its window has enough of it.
    if (!now && member && is_there(*member)) return false;
    emit_transition(
        index, unknown.from == AlertState::kFiring ? Change::kResolved : Change::kCleared, instance,
        now ? "its source is seen again" : "its source is seen again, without it");
    return true;
  });
}

void RuleEngine::emit_transition(std::size_t index, Change change, const Instance& instance,
                                 std::string reason) {
  Transition transition;
  transition.rule = &rules_.rules[index];
  transition.change = change;
  if (change == Change::kFiring) transition.from = AlertState::kPending;
  if (change > Change::kFiring) transition.from = instance.state;
  transition.labels = *instance.labels;
  transition.value = instance.value;
  transition.at = step_;
  transition.active_since = instance.active_since;
  transition.reason = std::move(reason);
  transitions_.push_back(std::move(transition));
}

}  // namespace jetmem
