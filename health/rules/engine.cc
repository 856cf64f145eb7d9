#include "health/rules/engine.h"

#include <algorithm>
#include <utility>

#include "base/sample.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kLookback = std::chrono::milliseconds(SeriesStore::kLookback);

std::int64_t milliseconds(Nanoseconds t) { return t.count() / 1'000'000; }

std::string key_of(std::string_view metric, const Labels& labels) {
  std::string key(metric);
  for (const auto& [name, value] : labels) {
    key.append("\xff").append(name).append("\xfe").append(value);
  }
  return key;
}

std::chrono::milliseconds longest_window(const RuleSet& rules) {
  std::chrono::milliseconds longest{SeriesStore::kLookback};
  for (const Rule& rule : rules.rules) {
    for (const Condition& condition : rule.when) longest = std::max(longest, condition.window);
  }
  return longest;
}

std::string_view value_of(const Labels& labels, std::string_view name) {
  for (const auto& [label, value] : labels) {
    if (label == name) return value;
  }
  return {};
}

// What absent() gives as labels: those that must be equal to one value.
Labels labels_of_absent(const Condition& condition) {
  Labels labels;
  for (const LabelMatcher& matcher : condition.labels) {
    if (matcher.equal && matcher.values.size() == 1 && !matcher.values.front().empty()) {
      labels.emplace_back(matcher.label, matcher.values.front());
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

bool holds(const Condition& condition, double value, bool to_stop) {
  if (!condition.comparison) return true;
  const Threshold& threshold = to_stop && condition.clear ? *condition.clear : condition.threshold;
  return compare(value, *condition.comparison, threshold.value);
}

// A rule with `for: 0` fires in the step in which it begins.
Nanoseconds hold_of(const Rule& rule) { return rule.hold; }

}  // namespace

AlertState RuleEngine::Judged::state() const {
  AlertState state = AlertState::kInactive;
  for (const Instance& instance : instances) state = std::max(state, instance.state);
  return state;
}

RuleEngine::RuleEngine(RuleSet rules, Options options)
    : rules_(std::move(rules)),
      options_(options),
      reach_(longest_window(rules_)),
      store_(options.interval, reach_, options.memory) {
  const std::size_t n = rules_.rules.size();
  selectors_.resize(n);
  unless_.resize(n);
  judged_.resize(n);
  has_clear_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    const Rule& rule = rules_.rules[r];
    for (std::size_t c = 0; c < rule.when.size(); ++c) {
      selectors_[r].push_back({&rule, &rule.when[c], {}, {}});
      by_metric_[rule.when[c].metric].emplace_back(r, c);
      if (rule.when[c].clear) has_clear_[r] = true;
    }
    judged_[r].conditions.resize(rule.when.size());
    absent_identity_.push_back(intern(labels_of_absent(rule.when.front())));
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

bool RuleEngine::matches(const Condition& condition, const Labels& labels) {
  for (const LabelMatcher& matcher : condition.labels) {
    const std::string_view value = value_of(labels, matcher.label);
    const bool is_one =
        std::find(matcher.values.begin(), matcher.values.end(), value) != matcher.values.end();
    if (is_one != matcher.equal) return false;
  }
  return true;
}

std::uint32_t RuleEngine::intern(const Labels& labels) {
  std::string key = key_of({}, labels);
  if (const auto at = label_ids_.find(key); at != label_ids_.end()) return at->second;
  const auto id = static_cast<std::uint32_t>(labels_.size());
  label_bytes_ += 2 * key.size() + sizeof(Labels);
  labels_.push_back(labels);
  label_ids_.emplace(std::move(key), id);
  return id;
}

void RuleEngine::forget_unused_labels() {
  const std::vector<Labels> old = std::exchange(labels_, {});
  label_ids_.clear();
  label_bytes_ = 0;
  std::vector<std::optional<std::uint32_t>> now(old.size());
  const auto move = [&](std::uint32_t& id) {
    if (!now[id]) now[id] = intern(old[id]);
    id = *now[id];
  };
  for (Series& series : series_) {
    if (series.used) move(series.identity);
  }
  for (std::vector<Selector>& of_rule : selectors_) {
    for (Selector& selector : of_rule) {
      for (Member& member : selector.members) {
        move(member.identity);
        move(member.tie);
      }
      for (std::uint32_t& tie : selector.first_ties) move(tie);
    }
  }
  for (std::uint32_t& id : absent_identity_) move(id);
  for (Judged& judged : judged_) {
    for (Instance& instance : judged.instances) move(instance.identity);
    for (Seen& seen : judged.conditions) {
      if (seen.worst) move(seen.worst_identity);
    }
  }
}

std::optional<RuleEngine::SeriesId> RuleEngine::series(std::string_view metric,
                                                       const Labels& labels) {
  const auto selectors = by_metric_.find(std::string(metric));
  if (selectors == by_metric_.end()) return std::nullopt;
  std::string key = key_of(metric, labels);
  if (const auto at = series_by_key_.find(key); at != series_by_key_.end()) return at->second;

  std::vector<std::pair<std::size_t, std::size_t>> wanted;
  std::chrono::milliseconds window{0};
  bool looked_back = false;
  for (const auto& [r, c] : selectors->second) {
    const Condition& condition = *selectors_[r][c].condition;
    if (!matches(condition, labels)) continue;
    wanted.emplace_back(r, c);
    window = std::max(window, condition.window);
    looked_back |= condition.window.count() > 0;
  }
  if (wanted.empty()) return std::nullopt;
  const auto has_room = [&] {
    return bytes() + 2 * key.size() + sizeof(Series) <= options_.memory;
  };
  if (!has_room()) forget_unused_labels();
  const auto ring = has_room() ? store_.add(window) : std::nullopt;
  if (!ring) {
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
  const std::uint32_t identity = intern(labels);
  series_[id] = {*ring, identity, std::string(metric), true, looked_back};
  series_by_key_.emplace(std::move(key), id);
  const auto tie = [&](const std::vector<std::string>& on) {
    Labels values;
    for (const std::string& name : on) values.emplace_back(name, value_of(labels, name));
    return intern(values);
  };
  for (const auto& [r, c] : wanted) {
    Selector& selector = selectors_[r][c];
    selector.members.push_back({id, identity, tie(selector.condition->on)});
    if (c != 0) continue;
    for (Selector& other : selectors_[r]) {
      if (&other != &selector) other.first_ties.push_back(tie(other.condition->on));
    }
  }
  return id;
}

void RuleEngine::remove(SeriesId id) {
  Series& series = series_[id];
  series_by_key_.erase(key_of(series.metric, labels_[series.identity]));
  for (const auto& [r, c] : by_metric_.at(series.metric)) {
    std::vector<Member>& members = selectors_[r][c].members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].series != id) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      members.erase(members.begin() + at);
      if (c == 0) {
        for (std::size_t other = 1; other < selectors_[r].size(); ++other) {
          auto& ties = selectors_[r][other].first_ties;
          ties.erase(ties.begin() + at);
        }
      }
      break;
    }
  }
  store_.remove(series.ring);
  series = Series();
  free_series_.push_back(id);
}

void RuleEngine::begin(Nanoseconds now, bool provisional) {
  step_ = now;
  store_.begin(milliseconds(now), provisional);
}

std::optional<double> RuleEngine::value(const Condition& condition, SeriesId id) {
  const SeriesStore::Id ring = series_[id].ring;
  if (condition.window.count() == 0) return store_.now(ring);
  store_.collect(ring, condition.window, window_);
  if (window_.empty()) return std::nullopt;
  return over_window(condition.function, window_, store_.time(), condition.window, condition.ahead);
}

void RuleEngine::judge(const Blindness* blindness) {
  transitions_.clear();
  earlier_is_seen_ = last_step_ >= Nanoseconds(0) && step_ - last_step_ <= kLookback;
  for (std::size_t r = 0; r < selectors_.size(); ++r) judge_rule(r, blindness);
  last_step_ = step_;
  ++steps_;
}

void RuleEngine::see(Seen& seen, const Condition& condition, double value,
                     std::uint32_t identity) const {
  ++seen.series;
  if (holds(condition, value, false)) ++seen.holding;
  bool is_worse = !seen.worst.has_value();
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
  seen.worst_identity = identity;
}

void RuleEngine::look_at_first(std::size_t index) {
  const Selector& selector = selectors_[index][0];
  const Condition& condition = *selector.condition;
  Seen& seen = judged_[index].conditions[0];
  rows_.clear();
  for (const Member& member : selector.members) {
    const auto found = value(condition, member.series);
    // A row for each member, so that ties stay beside it.
    Row row{member.identity, found.value_or(0), false, false};
    if (found) {
      see(seen, condition, *found, member.identity);
      row.start = holds(condition, *found, false);
      row.hold = holds(condition, *found, true);
    }
    rows_.push_back(row);
  }
  if (condition.function != Function::kAbsent) return;
  const bool is_absent = seen.series == 0;
  rows_.clear();
  seen.holding = is_absent ? 1 : 0;
  if (is_absent) rows_.push_back({absent_identity_[index], 1, true, true});
}

void RuleEngine::look_at_other(std::size_t index, std::size_t c) {
  const Selector& selector = selectors_[index][c];
  const Condition& condition = *selector.condition;
  Seen& seen = judged_[index].conditions[c];
  start_ties_.any = hold_ties_.any = false;
  start_ties_.keys.clear();
  hold_ties_.keys.clear();
  for (const Member& member : selector.members) {
    const auto found = value(condition, member.series);
    if (!found) continue;
    see(seen, condition, *found, member.identity);
    if (holds(condition, *found, false)) start_ties_.keys.push_back(member.tie);
    if (holds(condition, *found, true)) hold_ties_.keys.push_back(member.tie);
  }
  start_ties_.any = !start_ties_.keys.empty();
  hold_ties_.any = !hold_ties_.keys.empty();
  const bool is_absent = condition.function == Function::kAbsent;
  if (is_absent) {
    start_ties_.any = hold_ties_.any = seen.series == 0;
    seen.holding = start_ties_.any ? 1 : 0;
  }
  const bool tied = !condition.on.empty() && !is_absent;
  std::sort(start_ties_.keys.begin(), start_ties_.keys.end());
  std::sort(hold_ties_.keys.begin(), hold_ties_.keys.end());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto is_tied = [&](const Ties& ties) {
      if (!tied) return ties.any;
      // An absent() in front has no series, and so no labels to tie by.
      const std::uint32_t tie =
          i < selector.first_ties.size() ? selector.first_ties[i] : UINT32_MAX;
      return std::binary_search(ties.keys.begin(), ties.keys.end(), tie);
    };
    rows_[i].start = rows_[i].start && is_tied(start_ties_);
    rows_[i].hold = rows_[i].hold && is_tied(hold_ties_);
  }
}

bool RuleEngine::is_firing(std::size_t index, std::size_t seen_from) const {
  // Rules before this one were judged in this step already; the others' ALERTS are of the last.
  if (index >= seen_from && !earlier_is_seen_) return false;
  for (const Instance& instance : judged_[index].instances) {
    if (instance.state == AlertState::kFiring) return true;
  }
  return false;
}

bool RuleEngine::is_silenced(std::size_t index) const {
  return std::any_of(unless_[index].begin(), unless_[index].end(),
                     [&](std::size_t other) { return is_firing(other, index); });
}

std::string_view RuleEngine::blind_reason(const Rule& rule, const Blindness* blindness) const {
  if (blindness == nullptr) return {};
  for (const Condition& condition : rule.when) {
    const std::string_view reason = blindness->blind(condition.metric);
    if (!reason.empty()) return reason;
  }
  return {};
}

void RuleEngine::judge_rule(std::size_t index, const Blindness* blindness) {
  Judged& judged = judged_[index];
  for (Seen& seen : judged.conditions) seen = Seen();
  look_at_first(index);
  for (std::size_t c = 1; c < selectors_[index].size(); ++c) look_at_other(index, c);

  // Held by its own ALERTS series where it fires.
  for (Row& row : rows_) {
    bool held = false;
    if (has_clear_[index] && row.hold && !row.start && earlier_is_seen_) {
      for (const Instance& instance : judged.instances) {
        held |= instance.identity == row.identity && instance.state == AlertState::kFiring;
      }
    }
    row.hold = row.start || held;
  }
  judged.silenced = is_silenced(index);

  judged.blind.clear();
  if (blindness != nullptr) {
    for (std::size_t c = 0; c < judged.conditions.size(); ++c) {
      if (judged.conditions[c].series > 0) continue;
      judged.blind = blindness->blind(rules_.rules[index].when[c].metric);
      if (!judged.blind.empty()) break;
    }
  }
  advance(index, blindness);
  end_unknown(index);
}

bool RuleEngine::has_value(std::size_t index, std::uint32_t identity) {
  const Selector& selector = selectors_[index][0];
  for (const Member& member : selector.members) {
    if (member.identity == identity) return value(*selector.condition, member.series).has_value();
  }
  return false;
}

// AlertingRule.Eval of Prometheus' rules/alerting.go.
void RuleEngine::advance(std::size_t index, const Blindness* blindness) {
  const Rule& rule = rules_.rules[index];
  Judged& judged = judged_[index];
  const auto row_of = [&](const Instance& instance) -> const Row* {
    if (judged.silenced) return nullptr;
    for (const Row& row : rows_) {
      if (row.identity == instance.identity && row.hold) return &row;
    }
    return nullptr;
  };
  if (!judged.silenced) {
    for (const Row& row : rows_) {
      if (!row.hold) continue;
      const bool is_known =
          std::any_of(judged.instances.begin(), judged.instances.end(),
                      [&](const Instance& instance) { return instance.identity == row.identity; });
      if (is_known) continue;
      if (judged.instances.size() == kMaxInstances) {
        ++judged.dropped;
        continue;
      }
      Instance instance;
      instance.identity = row.identity;
      instance.active_since = step_;
      instance.value = row.value;
      judged.instances.push_back(instance);
      if (rule.hold.count() > 0) tell(index, Change::kPending, instance);
    }
  }
  for (std::size_t i = 0; i < judged.instances.size();) {
    Instance& instance = judged.instances[i];
    if (const Row* row = row_of(instance)) {
      instance.value = row->value;
      instance.ended.reset();
    } else if (end(instance, index, blindness)) {
      judged.instances.erase(judged.instances.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (instance.state == AlertState::kPending && step_ - instance.active_since >= hold_of(rule)) {
      instance.state = AlertState::kFiring;
      instance.firing_since = step_;
      tell(index, Change::kFiring, instance);
    }
    ++i;
  }
}

// Its conditions do not hold in this step. False: it is kept firing a while.
bool RuleEngine::end(Instance& instance, std::size_t index, const Blindness* blindness) {
  const Rule& rule = rules_.rules[index];
  Judged& judged = judged_[index];
  if (instance.state == AlertState::kFiring && rule.keep_firing_for.count() > 0) {
    if (!instance.ended) instance.ended = step_;
    if (step_ - *instance.ended < rule.keep_firing_for) return false;
  }
  const std::string_view reason =
      has_value(index, instance.identity) ? std::string_view() : blind_reason(rule, blindness);
  if (!reason.empty()) {
    tell(index, Change::kUnknown, instance, std::string(reason));
    if (judged.unknown.size() < kMaxInstances) judged.unknown.push_back(labels_of(instance));
  } else if (judged.silenced) {
    std::string by;
    for (const std::size_t other : unless_[index]) {
      if (is_firing(other, index)) by = rules_.rules[other].name + " fires";
    }
    tell(index, Change::kSilenced, instance, std::move(by));
  } else {
    tell(index, instance.state == AlertState::kFiring ? Change::kResolved : Change::kDropped,
         instance);
  }
  return true;
}

// What was unknown is known again: either it is an alert again, or it can be called resolved now.
void RuleEngine::end_unknown(std::size_t index) {
  Judged& judged = judged_[index];
  std::erase_if(judged.unknown, [&](const Labels& labels) {
    for (const Row& row : rows_) {
      if (labels_[row.identity] != labels) continue;
      const bool is_active =
          std::any_of(judged.instances.begin(), judged.instances.end(),
                      [&](const Instance& instance) { return instance.identity == row.identity; });
      if (is_active) return true;
      if (!has_value(index, row.identity)) return false;
      Instance instance;
      instance.identity = row.identity;
      instance.value = row.value;
      instance.active_since = step_;
      tell(index, Change::kResolved, instance, "its source is seen again");
      return true;
    }
    return false;
  });
}

void RuleEngine::tell(std::size_t index, Change change, const Instance& instance,
                      std::string reason) {
  Transition transition;
  transition.rule = &rules_.rules[index];
  transition.change = change;
  transition.labels = labels_of(instance);
  transition.value = instance.value;
  transition.at = step_;
  transition.active_since = instance.active_since;
  transition.reason = std::move(reason);
  transitions_.push_back(std::move(transition));
}

std::vector<std::pair<Labels, double>> RuleEngine::values_of(const Condition& condition) {
  std::vector<std::pair<Labels, double>> out;
  for (const std::vector<Selector>& of_rule : selectors_) {
    for (const Selector& selector : of_rule) {
      if (selector.condition != &condition) continue;
      for (const Member& member : selector.members) {
        if (const auto found = value(condition, member.series)) {
          out.emplace_back(labels_[member.identity], *found);
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

RuleEngine::Saved RuleEngine::save(bool with_past) const {
  Saved saved;
  saved.last_step = last_step_;
  for (std::size_t r = 0; r < judged_.size(); ++r) {
    for (const Instance& instance : judged_[r].instances) {
      saved.alerts.push_back({rules_.rules[r].name, labels_of(instance), instance});
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
  while (!times.empty() && times.back() > milliseconds(now)) times.pop_back();

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
