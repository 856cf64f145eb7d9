// SPDX-License-Identifier: Apache-2.0
#include "collectors/sampler/sampler.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text/units.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kMaxSources = 64;
constexpr int kStaleAfterIntervals = 3;
// Of a source that is spared: a reading is worth so many times its length of rest, up to a bound.
constexpr int kRestPerRead = 1000;
constexpr int kMostIntervals = 10;

constexpr std::array kSourceMetrics{
    gauge("jetmem_source_state",
          "1 for the state a source is in, 0 for the others. pending: not read yet, or skipped "
          "so far to protect the device; absent: this kernel or board has none; denied: it needs "
          "privilege; failed: see the journal.",
          {"source", "state"}, 6 * kMaxSources),
    gauge("jetmem_source_stale",
          "1 when a source's last good reading is older than three intervals: its series were "
          "dropped and jetmem is blind there.",
          {"source"}, kMaxSources),
    gauge("jetmem_source_failing",
          "1 when jetmem cannot read what it should: the source exists, and its last reading "
          "failed or is too old; jetmem sources and the journal have the reason. Absent for a "
          "source that this machine does not have, that is disabled, or that is skipped to "
          "protect the device; 0 where it is denied, see jetmem_source_state.",
          {"source"}, kMaxSources),
    counter("jetmem_source_reads_total", "Times a source was read, successfully or not.",
            {"source"}, kMaxSources),
    counter("jetmem_source_errors_total",
            "Times a source could not be read or understood, by reason. A reason appears when it "
            "first occurs.",
            {"source", "reason"}, 8 * kMaxSources),
    counter("jetmem_source_skipped_total",
            "Times a source was skipped on purpose, to protect the device; jetmem sources and "
            "the journal have the reason.",
            {"source"}, kMaxSources),
    gauge("jetmem_source_absent_values",
          "Values that were unavailable in the last reading although the source itself is fine, "
          "by reason: a powered-off thermal zone, say. Derived metrics count theirs under their "
          "own name.",
          {"source", "reason"}, 8 * kMaxSources),
    gauge("jetmem_source_dropped_samples",
          "Samples of the last reading that were omitted because a metric reached its bound on "
          "series or two had the same labels.",
          {"source"}, kMaxSources),
    counter("jetmem_source_series_changes_total", "Times the set of series of a source changed.",
            {"source"}, kMaxSources),
    gauge("jetmem_source_interval_seconds",
          "How often a source is read: as the settings have it, or less often where a reading "
          "takes long.",
          {"source"}, kMaxSources),
    gauge("jetmem_source_duration_seconds",
          "How long the last reading took: reading, parsing and storing.", {"source"}, kMaxSources),
    gauge("jetmem_source_age_seconds",
          "Age of a source's last good reading, time in suspend included.", {"source"},
          kMaxSources),
};
constexpr MetricTable source_metric{kSourceMetrics};

constexpr std::array kShownStates{SourceState::kPending, SourceState::kOk,
                                  SourceState::kAbsent,  SourceState::kDenied,
                                  SourceState::kFailed,  SourceState::kDisabled};

SourceState state_of(Errc error) {
  if (error == Errc::kAbsent) return SourceState::kAbsent;
  if (error == Errc::kDenied) return SourceState::kDenied;
  return SourceState::kFailed;
}

// Whether it should see and does not; nothing where there is nothing to see, or where it looks away
// on purpose: then old data is no fault.
std::optional<bool> is_blind(const SourceStatus& status) {
  if (status.state == SourceState::kFailed) return true;
  if (status.state == SourceState::kDenied) return false;
  const bool on_purpose = status.stale && !status.skipped.empty();
  if (status.state != SourceState::kOk || on_purpose) return std::nullopt;
  return status.stale;
}

// Folders that a source's patterns look into, and that could not be listed this time.
//
// Each pattern lists its folder by itself: where one of them fails (no descriptor left, no memory)
// a parser sees the other files of the same devices, and cannot tell a file that is not there from
// one that nobody saw.
struct Unlisted {
  std::size_t count = 0;  // lists: one folder may be several patterns'
  FileText first{};       // valid as long as the snapshot
};

bool is_of_this_moment(int error) {
  switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case EACCES:
    case EPERM:
      return false;
    default:
      return true;
  }
}

// Whether the pattern has a '*' right behind this path.
bool checks_inside(std::string_view pattern, std::string_view path) {
  const auto depth = std::count(path.begin(), path.end(), '/');
  for (std::size_t star = pattern.find('*'); star != std::string_view::npos;
       star = pattern.find('*', star + 1)) {
    const std::string_view folder = pattern.substr(0, pattern.rfind('/', star));
    if (std::count(folder.begin(), folder.end(), '/') == depth && glob_match(folder, path)) {
      return true;
    }
  }
  return false;
}

// Folders that are absent or may not be listed do not count: each source knows what that means.
Unlisted unlisted_folders(const Snapshot& snapshot, std::span<const std::string_view> patterns) {
  Unlisted out;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    if (!is_of_this_moment(file.error)) continue;
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return checks_inside(pattern, file.path); })) {
      continue;
    }
    if (out.count++ == 0) out.first = file;
  }
  return out;
}

}  // namespace

std::string_view state_name(SourceState state) {
  static constexpr std::array<std::string_view, 6> kNames{"pending", "ok",     "absent",
                                                          "denied",  "failed", "disabled"};
  return kNames[static_cast<std::size_t>(state)];
}

std::span<const Descriptor> sampler_metrics() { return kSourceMetrics; }

Sampler::Sampler(const Root& root, const Clock& clock, SampleTable& table,
                 std::vector<std::unique_ptr<Source>> sources,
                 std::vector<std::unique_ptr<DerivedMetric>> derived_metrics, Options options)
    : root_(root), clock_(clock), table_(table), options_(options) {
  entries_.reserve(sources.size());
  for (std::unique_ptr<Source>& source : sources) {
    const SourceInfo& info = source->info();
    readings_.add(source->reading_tag(), source->reading_address());
    Entry entry{std::move(source),
                SnapshotReader(info.paths, info.limits, info.gather, info.name),
                {},
                {},
                0};
    entry.status.interval = info.interval;
    entry.status.timeout = info.interval;
    entry.section = table_.add_section(std::string(info.name));
    entry.is_lazy = !info.write_at_once &&
                    std::none_of(info.metrics.begin(), info.metrics.end(),
                                 [](const Descriptor& d) { return d.worst != Worst::kNone; });
    entries_.push_back(std::move(entry));
  }
  for (std::unique_ptr<DerivedMetric>& derived_metric : derived_metrics) {
    const std::size_t section = table_.add_section(std::string(derived_metric->info().name));
    Derived derived{std::move(derived_metric), {}, section};
    derived.is_lazy = !derived.derived_metric->info().write_at_once;
    derived_.push_back(std::move(derived));
  }
  own_section_ = table_.add_section("sources");
}

void Sampler::set_enabled(std::size_t i, bool enabled) {
  Entry& entry = entries_[i];
  const bool disabled = entry.status.state == SourceState::kDisabled;
  if (enabled != disabled) return;
  // Whoever switches it on wants to see it.
  entry.status.throttled_interval = {};
  entry.earlier_read_time = Nanoseconds(0);
  if (enabled) {
    set_state(entry, SourceState::kPending, {});
  } else {
    drop(entry, i);
    entry.status.stale = entry.status.dropped = false;
    entry.status.last_success = Nanoseconds(-1);
    entry.status.skipped.clear();
    set_state(entry, SourceState::kDisabled, "switched off in the settings");
  }
}

void Sampler::set_interval(std::size_t i, std::chrono::milliseconds interval) {
  SourceStatus& status = entries_[i].status;
  status.interval = interval;
  status.timeout = std::max(status.timeout, interval);
}

bool Sampler::admit(std::size_t i) {
  Entry& entry = entries_[i];
  if (entry.status.state == SourceState::kDisabled) return false;
  // A copied file costs nobody anything.
  if (!root_.is_live()) return admit_captured(i);
  if (entry.status.is_throttled() && clock_.boot() < entry.not_before) {
    ++entry.status.skips;
    return false;
  }
  std::optional<Error> refusal = entry.source->gate(readings_);
  const bool was_skipped = !entry.status.skipped.empty();
  if (!refusal) {
    if (was_skipped && !entry.status.is_throttled()) {
      entry.status.skipped.clear();
      if (on_change_) on_change_(entry.source->info(), entry.status);
    }
    return true;
  }
  skip(i, std::move(refusal->message));
  return false;
}

// What was not read at the capture is not there, and yet was not absent.
bool Sampler::admit_captured(std::size_t i) {
  if (root_.manifest() == nullptr) return true;
  const auto* note = root_.manifest()->source(entries_[i].source->info().name);
  if (note == nullptr || note->was_read()) return true;
  if (note->error) {
    reject(i, {*note->error, note->reason});
  } else {
    skip(i, note->skipped);
  }
  return false;
}

void Sampler::skip(std::size_t i, std::string reason) {
  SourceStatus& status = entries_[i].status;
  const bool was_skipped = !status.skipped.empty();
  ++status.skips;
  status.skipped = std::move(reason);
  if (!was_skipped && on_change_) on_change_(entries_[i].source->info(), status);
}

void Sampler::collect(std::size_t i) {
  if (!admit(i)) return;
  const Nanoseconds begin = clock_.mono();
  const Snapshot& snapshot = entries_[i].reader.read(root_);
  accept(i, snapshot, clock_.mono() - begin);
}

void Sampler::accept(std::size_t i, const Snapshot& snapshot, Nanoseconds read_time) {
  Entry& entry = entries_[i];
  if (entry.status.state == SourceState::kDisabled) return;
  const Nanoseconds begin = clock_.mono();
  Result<void> parsed =
      snapshot.truncated()
          ? Result<void>(fail(Errc::kTooLarge, "more files or bytes than this source's bound"))
          : entry.source->parse(snapshot, read_time);
  entry.status.read_time = read_time;
  const Unlisted unlisted = unlisted_folders(snapshot, entry.source->info().paths);
  if (!parsed) {
    // What nobody could look for is not known to be absent.
    const bool absent = parsed.error().code == Errc::kAbsent;
    // The reading before is overwritten: what the table has is older.
    if (std::exchange(entry.is_unwritten, false)) entry.status.last_success = entry.written;
    reject(i, absent && unlisted.count > 0 ? unlisted.first.as_error() : std::move(parsed.error()));
    return;
  }
  ++entry.status.reads;
  const Nanoseconds now = clock_.boot();
  entry.unlisted = unlisted.count;
  entry.status.last_success = now;
  entry.suspended = suspended();
  entry.is_unwritten = true;
  if (!entry.is_lazy) write(entry);
  readings_.set_valid(i, true);
  has_news_ = true;
  entry.status.timeout = entry.status.interval;
  if (entry.source->info().throttled) throttle(entry, now);
  entry.status.work_time = read_time + (clock_.mono() - begin);
  entry.status.error = Errc::kIo;
  const bool was_stale = std::exchange(entry.status.stale, false);
  entry.status.dropped = false;
  // Nothing asked before it was read: its program decided.
  const bool was_skipped = !std::exchange(entry.status.skipped, {}).empty();
  if (entry.status.state != SourceState::kOk || was_stale || was_skipped) {
    set_state(entry, SourceState::kOk, {});
  }
}

void Sampler::write(Entry& entry) {
  const Nanoseconds now = entry.status.last_success;
  entry.absent.reset();
  if (const auto* of_reading = entry.source->absent()) entry.absent.add(*of_reading);
  WriteContext context{root_.facts(), readings_, entry.absent, now, now - entry.suspended};
  {
    SampleWriter writer(table_, entry.section, now);
    entry.source->write(writer, context);
  }
  if (entry.unlisted > 0) entry.absent.add("unreadable", entry.unlisted);
  entry.is_unwritten = false;
  entry.written = now;
}

void Sampler::write(Derived& derived, Nanoseconds now) {
  derived.absent.reset();
  WriteContext context{root_.facts(), readings_, derived.absent, now};
  SampleWriter writer(table_, derived.section, now);
  derived.derived_metric->write(writer, context);
  derived.is_unwritten = false;
}

// The shorter of two readings counts: a moment in which everything was slow is no reason to look
// away.
void Sampler::throttle(Entry& entry, Nanoseconds now) {
  const Nanoseconds read_time = entry.status.read_time;
  const Nanoseconds cost = entry.earlier_read_time > Nanoseconds(0)
                               ? std::min(read_time, entry.earlier_read_time)
                               : Nanoseconds(0);
  entry.earlier_read_time = read_time;
  const Nanoseconds interval = entry.status.interval;
  const Nanoseconds rest = std::min(cost * kRestPerRead, interval * kMostIntervals);
  const bool was_throttled = entry.status.is_throttled();
  entry.status.throttled_interval = rest > interval
                                        ? std::chrono::ceil<std::chrono::milliseconds>(rest)
                                        : std::chrono::milliseconds(0);
  const bool is_throttled = entry.status.is_throttled();
  if (is_throttled) {
    // Whoever is asked on the grid of its interval comes a little early as often as late.
    entry.not_before = now + rest - interval / 2;
    entry.status.timeout = std::chrono::ceil<std::chrono::milliseconds>(rest + interval);
  }
  if (is_throttled == was_throttled) return;
  if (is_throttled) {
    entry.status.skipped = "read less often, as one reading takes " +
                           format_duration(std::chrono::ceil<std::chrono::milliseconds>(cost)) +
                           ": now every " + format_duration(entry.status.throttled_interval);
  }
  if (on_change_) on_change_(entry.source->info(), entry.status);
  // Said once; what happens to it next is news of its own.
  entry.status.skipped.clear();
}

void Sampler::reject(std::size_t i, Error error) {
  Entry& entry = entries_[i];
  if (entry.status.state == SourceState::kDisabled) return;
  if (error.code == Errc::kSkipped) {
    skip(i, std::move(error.message));
    return;
  }
  ++entry.status.reads;
  entry.status.skipped.clear();
  // As long as it is not stale.
  if (entry.is_unwritten) write(entry);
  const SourceState state = state_of(error.code);
  if (state == SourceState::kFailed) {
    ++entry.status.errors[static_cast<std::size_t>(error.code)];
  } else {
    // What does not exist, or is not ours to read, has no last value worth keeping.
    drop(entry, i);
    entry.status.stale = entry.status.dropped = false;
    entry.status.last_success = Nanoseconds(-1);
  }
  readings_.set_valid(i, false);
  has_news_ = true;
  const bool same = entry.status.state == state && entry.status.error == error.code;
  entry.status.error = error.code;
  if (same) {
    // Line numbers and the like may differ each cycle: shown, but not reported as a change.
    entry.status.reason = std::move(error.message);
    return;
  }
  set_state(entry, state, std::move(error.message));
}

void Sampler::set_state(Entry& entry, SourceState state, std::string reason) {
  entry.status.state = state;
  entry.status.reason = std::move(reason);
  if (on_change_) on_change_(entry.source->info(), entry.status);
}

void Sampler::drop(Entry& entry, std::size_t i) {
  table_.clear(entry.section);
  entry.is_unwritten = false;
  entry.written = Nanoseconds(-1);
  entry.absent.reset();
  readings_.set_valid(i, false);
  has_news_ = true;
}

// Time that the machine spent in suspend. A fast clock has none: its boot clock alone is fast.
Nanoseconds Sampler::suspended() const {
  return clock_.speed() > 1 ? Nanoseconds(0) : clock_.boot() - clock_.mono();
}

void Sampler::finish_eager() {
  const Nanoseconds now = clock_.boot();
  for (std::size_t i = 0; options_.with_timing && i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.status.last_success < Nanoseconds(0) || entry.status.stale) continue;
    Nanoseconds timeout = kStaleAfterIntervals * entry.status.timeout;
    if (entry.status.state == SourceState::kOk) timeout = std::max(timeout, options_.answer_time);
    const Nanoseconds age = now - entry.status.last_success;
    if (age <= timeout) continue;
    if (!entry.status.dropped) drop(entry, i);
    entry.status.dropped = true;
    // Time in suspend ages the data, but nobody was late for it.
    if (age - (suspended() - entry.suspended) <= timeout) continue;
    entry.status.stale = true;
    if (on_change_) on_change_(entry.source->info(), entry.status);
  }
  if (std::exchange(has_news_, false)) {
    for (Derived& derived : derived_) {
      derived.is_unwritten = true;
      if (!derived.is_lazy) write(derived, now);
    }
  }
}

void Sampler::finish_lazy() {
  const Nanoseconds now = clock_.boot();
  for (Entry& entry : entries_) {
    if (!entry.is_unwritten) continue;
    const Nanoseconds begin = clock_.mono();
    write(entry);
    entry.status.work_time += clock_.mono() - begin;
  }
  for (Derived& derived : derived_) {
    if (derived.is_unwritten) write(derived, now);
  }
  write_own_series(now);
}

void Sampler::write_own_series(Nanoseconds now) {
  SampleWriter out(table_, own_section_, now);
  const auto put_absent = [&](std::string_view name, const AbsentValues& values) {
    for (const AbsentValues::Count& absent : values.counts()) {
      out.put(source_metric("jetmem_source_absent_values"), absent.count, name, absent.reason);
    }
  };
  for (const Derived& derived : derived_)
    put_absent(derived.derived_metric->info().name, derived.absent);
  for (const Entry& entry : entries_) {
    const std::string_view name = entry.source->info().name;
    const SourceStatus& status = entry.status;
    for (const SourceState state : kShownStates) {
      out.put(source_metric("jetmem_source_state"), status.state == state ? 1 : 0, name,
              state_name(state));
    }
    if (status.state == SourceState::kDisabled) continue;
    out.put(source_metric("jetmem_source_stale"), status.stale ? 1 : 0, name);
    out.put(source_metric("jetmem_source_failing"), is_blind(status), name);
    put_absent(name, entry.absent);
    const SampleTable::Section& section = table_.sections()[entry.section];
    out.put(source_metric("jetmem_source_dropped_samples"), section.dropped + section.duplicates,
            name);
    for (std::size_t e = 0; e < status.errors.size(); ++e) {
      if (status.errors[e] == 0) continue;
      out.put(source_metric("jetmem_source_errors_total"), status.errors[e], name,
              errc_name(static_cast<Errc>(e)));
    }
    if (!options_.with_timing) continue;
    out.put(source_metric("jetmem_source_reads_total"), status.reads, name);
    out.put(source_metric("jetmem_source_skipped_total"), status.skips, name);
    out.put(source_metric("jetmem_source_series_changes_total"), section.shape_changes, name);
    out.put(source_metric("jetmem_source_interval_seconds"),
            std::chrono::duration<double>(status.real_interval()).count(), name);
    if (status.last_success < Nanoseconds(0)) continue;
    out.put(source_metric("jetmem_source_duration_seconds"), to_seconds(status.work_time), name);
    out.put(source_metric("jetmem_source_age_seconds"), to_seconds(now - status.last_success),
            name);
  }
}

}  // namespace jetmem
