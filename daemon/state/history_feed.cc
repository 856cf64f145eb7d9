// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/history_feed.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "base/version.h"
#include "report/events/kernel_event_record.h"
#include "rules/model/alert_fields.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

// A change of an alert as the recorder keeps it.
EventRecord alert_event_record(const Transition& transition) {
  EventRecord record;
  record.what = EventWhat::kAlert;
  record.kind = std::string(change_name(transition.change));
  record.at = transition.at;
  if (transition.rule == nullptr) return record;
  const Rule& rule = *transition.rule;
  record.severity = std::string(severity_name(rule.severity));
  record.subject = printable(rule.name, 100);
  record.summary = one_line(fill_text(rule.texts.summary, transition.value,
                                      value_unit(rule.when.front()), transition.labels),
                            EventRecord::kMaxText);
  nlohmann::ordered_json fields;
  fields["from"] = alert_state_name(transition.from);
  if (std::isfinite(transition.value)) fields["value"] = transition.value;
  for (const auto& [name, value] : transition.labels) {
    fields["labels"][printable(name, 64)] = printable(value, 200);
  }
  fields["active_since_boot_seconds"] = to_seconds(transition.active_since);
  if (!transition.reason.empty())
    fields["reason"] = one_line(transition.reason, EventRecord::kMaxText);
  std::string text = fields.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() <= EventRecord::kMaxFields) record.fields = std::move(text);
  return record;
}

RecorderOptions options_of(HistoryFeed::Options given) {
  RecorderOptions options;
  options.directory =
      given.settings.directory.empty() ? given.state_directory : given.settings.directory;
  options.no_directory = given.live ? "history.directory is empty, and systemd made none "
                                      "(STATE_DIRECTORY)"
                                    : "under --root history.directory must be set";
  options.max_bytes = given.settings.max_size;
  options.interval = given.settings.interval;
  options.metrics = std::move(given.settings.metrics);
  options.boot_id = std::move(given.boot_id);
  // Another one at each start: two boots under one name would be taken for one.
  if (options.boot_id.empty()) {
    options.boot_id = std::string(given.live ? "unknown" : "root") + "-" +
                      std::to_string(SystemClock().wall().count());
  }
  return options;
}

bool is_kill(kernel_log::EventKind kind) {
  return kind == kernel_log::EventKind::kOomKill || kind == kernel_log::EventKind::kOomKillMemcg;
}

}  // namespace

HistoryFeed::HistoryFeed(Options options, const Clock& clock, Log& log)
    : clock_(clock),
      live_(options.live),
      captured_uptime_(options.captured_uptime),
      recorder_(
          [&] {
            RecorderOptions made = options_of(std::move(options));
            made.wall_trust = [this] {
              return wall_trust(clock_.boot().count() < synchronized_until_.load());
            };
            return made;
          }(),
          clock, log) {}

void HistoryFeed::start() {
  if (captured_uptime_) shift_ = clock_.boot() - *captured_uptime_;
  recorder_.daemon_event("start", "info", "jetmemd " + std::string(kVersion) + " started");
  recorder_.start();
}

std::optional<Nanoseconds> HistoryFeed::on_our_clock(std::optional<Nanoseconds> time) const {
  if (live_ || !time) return time;
  if (!captured_uptime_) return std::nullopt;
  return *time + shift_;
}

void HistoryFeed::kernel_event(const kernel_log::Event& event,
                               const kernel_log::Occurrence& occurrence) {
  const bool is_oom = !event.is_guess() && is_kill(event.kind());
  if (is_oom && !occurrence.before_start) recorder_.urgent("oom");
  const std::optional<Nanoseconds> time = on_our_clock(occurrence.time);
  // A storm is mostly of one source of trouble: it is counted without being put into words.
  const std::span<std::uint64_t> known = event.is_guess() ? std::span<std::uint64_t>(alike_guesses_)
                                                          : std::span<std::uint64_t>(alike_);
  // A process is killed once, and what the kernel suppressed is added up: these are put into words.
  const bool has_words = is_oom || event.kind() == kernel_log::EventKind::kRatelimitSuppressed;
  std::uint64_t* alike = !has_words && occurrence.entry_index < known.size()
                             ? &known[occurrence.entry_index]
                             : nullptr;
  if (alike != nullptr && *alike > 0 && recorder_.again(*alike, time, occurrence.before_start)) {
    return;
  }
  const kernel_log::Origin origin =
      occurrence.entry != nullptr ? occurrence.entry->origin : kernel_log::Origin::kSystem;
  EventRecord record = kernel_event_record(event, origin, time);
  // Before our own machine's boot: its boot clock has no name for it.
  if (time && *time < Nanoseconds(0)) {
    record.wall = clock_.wall() - clock_.boot() + *time;
    record.at.reset();
  }
  const std::uint64_t number = recorder_.event(std::move(record), occurrence.before_start);
  if (alike != nullptr) *alike = number;
}

void HistoryFeed::transition(const Transition& transition) {
  recorder_.event(alert_event_record(transition));
  if (transition.change == Change::kPending || transition.change == Change::kFiring) {
    recorder_.urgent("alert");
  }
}

void HistoryFeed::mark(const boot::Mark& mark, const std::string& this_boot) {
  EventRecord record;
  record.what = EventWhat::kMark;
  record.kind = "mark";
  record.severity = "info";
  record.summary = printable(mark.sentence(), EventRecord::kMaxText);
  if (mark.boot == this_boot) {
    record.at = std::chrono::seconds(mark.at.uptime);
  } else if (mark.at.plausible()) {
    record.wall = std::chrono::seconds(mark.at.wall);
  }
  recorder_.event(std::move(record));
}

void HistoryFeed::set_clock_synchronized(bool is_synchronized) {
  synchronized_until_ = is_synchronized ? (clock_.boot() + kSynchronizedFor).count() : 0;
}

double HistoryFeed::Watched::value(const SampleTable& table) const {
  if (!is_there) return std::numeric_limits<double>::quiet_NaN();
  return table.sections()[section].values[slot];
}

void HistoryFeed::find_watched(const SampleTable& table) {
  for (Watched* watched : {&level_, &stall_}) {
    watched->is_there = false;
    for (std::size_t s = 0; s < table.sections().size() && !watched->is_there; ++s) {
      const auto& slots = table.sections()[s].slots;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i].key != watched->key || slots[i].is_duplicate) continue;
        watched->section = s;
        watched->slot = i;
        watched->is_there = true;
        break;
      }
    }
  }
  shape_ = table.shape();
  is_found_ = true;
}

void HistoryFeed::watch(const SampleTable& table) {
  if (!is_found_ || shape_ != table.shape()) find_watched(table);
  // A value that is not there compares as false: no reason to write, nor to arm again.
  const double level = level_.value(table);
  const double stall = stall_.value(table);
  if (level >= kPressureLevel && !std::exchange(was_high_, true)) recorder_.urgent("pressure");
  if (level < kPressureLevel) was_high_ = false;
  if (stall >= kStallRatio && !std::exchange(was_stalled_, true)) recorder_.urgent("pressure");
  if (stall < kCalm) was_stalled_ = false;
}

bool HistoryFeed::is_step_due(const SampleTable& table) {
  watch(table);
  return recorder_.is_step_due();
}

void HistoryFeed::cycle(const SampleTable& table, bool is_whole) {
  recorder_.cycle(table, is_whole);
}

void HistoryFeed::finish(const SampleTable& table) {
  recorder_.cycle(table);
  recorder_.daemon_event("stop", "info", "jetmemd " + std::string(kVersion) + " stopped");
  recorder_.finish(kTimeout);
}

}  // namespace jetmem
