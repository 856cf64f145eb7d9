// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/saved.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/fields.h"
#include "rules/model/rule_keywords.h"

namespace jetmem {
namespace {

using json::Fields;

constexpr std::size_t kMaxAlerts = 4096;
constexpr std::size_t kMaxSeries = 16'384;
constexpr std::size_t kMaxSources = 256;
constexpr std::size_t kMaxTimes = 100'000;
constexpr std::size_t kMaxLabels = 16;
constexpr std::size_t kMaxSavedLabelBytes = 512;
// Times of the boot clock: none is negative, but that of a daemon that never evaluated.
constexpr std::int64_t kNever = -1;

void check_text(Fields& v, Fields::Key key, const std::string& text) {
  if (v.reading() && text.size() > kMaxSavedLabelBytes) v.fail(key, "is no short text");
}

void describe_text(Fields& v, Fields::Key key, std::string& text) {
  v.required_exact(key, text);
  check_text(v, key, text);
}

// Sorted, as the reader's objects are.
void describe_labels(Fields& v, Labels& labels) {
  v.required_exact("labels", labels);
  if (labels.size() > kMaxLabels) v.fail("labels", "are too many");
  for (const auto& label : labels) check_text(v, "labels", label.second);
}

}  // namespace

static void describe(Fields& v, RuleEngine::SavedAlert& alert) {
  RuleEngine::Instance& instance = alert.instance;
  describe_text(v, "rule", alert.rule);
  Labels labels = v.reading() ? Labels() : *instance.labels;
  describe_labels(v, labels);
  v.required_word("severity", alert.severity, names_of(kSeverities));
  v.required("unknown", alert.is_unknown);
  const std::array states{alert_state_name(AlertState::kInactive),
                          alert_state_name(AlertState::kPending),
                          alert_state_name(AlertState::kFiring)};
  v.required_word("state", instance.state, states);
  if (instance.state == AlertState::kInactive) v.missing("state");
  v.required_count("active_since", instance.active_since, kNever);
  v.required_count("firing_since", instance.firing_since, kNever);
  v.required_count_or_null("ended", instance.ended, kNever);
  v.required_exact("value", instance.value);
  if (v.reading()) instance.labels = std::make_shared<const Labels>(std::move(labels));
}

static void describe(Fields& v, RuleEngine::SavedSeries& series) {
  describe_text(v, "metric", series.metric);
  describe_labels(v, series.labels);
  // Of each of the last times: a number, null where there was none, false where the series was
  // gone.
  v.required_exact("values", series.values, SeriesStore::gap());
}

static void check(Fields& v, const SavedAlerts& kept) {
  const RuleEngine::Saved& saved = kept.saved;
  if (kept.sources.size() > kMaxSources) v.fail("sources", "are too many");
  for (const std::string& source : kept.sources) check_text(v, "sources", source);
  if (saved.alerts.size() > kMaxAlerts) v.fail("alerts", "are too many");
  if (saved.series.size() > kMaxSeries) v.fail("series", "are too many");
  if (saved.times.size() > kMaxTimes) v.fail("times", "are too many");
  std::int64_t before = kNever - 1;
  for (const std::int64_t time : saved.times) {
    if (time <= std::exchange(before, time) || time > INT64_MAX / 4) v.fail("times", "do not rise");
  }
  for (const RuleEngine::SavedSeries& series : saved.series) {
    if (series.values.size() > saved.times.size()) v.fail("series", "have more values than times");
  }
  // Nothing was seen after the last step.
  for (const RuleEngine::SavedAlert& alert : saved.alerts) {
    const RuleEngine::Instance& instance = alert.instance;
    const Nanoseconds latest = std::max(
        {instance.active_since, instance.firing_since, instance.ended.value_or(Nanoseconds(0))});
    if (latest > saved.last_step) v.fail("alerts", "are later than the last step");
  }
}

// Returns how many alerts and series at the end have no room.
static std::size_t describe(Fields& v, SavedAlerts& kept) {
  v.required_count("last_step", kept.saved.last_step, kNever);
  if (v.reading()) kept.saved.resumed = kept.saved.last_step;
  v.required("sources", kept.sources);
  v.required("times", kept.saved.times);
  std::size_t omitted = v.list_within("alerts", kept.saved.alerts, SavedAlerts::kMaxBytes);
  omitted += v.list_within("series", kept.saved.series, SavedAlerts::kMaxBytes);
  if (v.reading()) check(v, kept);
  return omitted;
}

Result<std::string> to_text(const SavedAlerts& kept) {
  if (kept.saved.alerts.size() > kMaxAlerts || kept.saved.series.size() > kMaxSeries) {
    return fail(Errc::kTooLarge, "more alerts or series than are read back");
  }
  std::size_t omitted = 0;
  std::string out = json::write_document(
      -1, [&](Fields& v) { omitted = describe(v, const_cast<SavedAlerts&>(kept)); });
  if (omitted > 0 || out.size() > SavedAlerts::kMaxBytes) {
    return fail(Errc::kTooLarge, "it takes more than 2 MiB");
  }
  return out;
}

Result<SavedAlerts> parse_saved_alerts(std::string_view text) {
  if (text.size() > SavedAlerts::kMaxBytes) return fail(Errc::kTooLarge, "is larger than 2 MiB");
  return json::read<SavedAlerts>(text, json::From::kFile);
}

}  // namespace jetmem
