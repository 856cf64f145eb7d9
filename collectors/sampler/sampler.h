// SPDX-License-Identifier: Apache-2.0
// Drives the sources: text in, samples out, and a state for each source that is never guessed.
// The daemon and `jetmem metrics` use the same Sampler; neither parses anything itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/source.h"
#include "metrics/sample.h"

namespace jetmem {

enum class SourceState : std::uint8_t {
  kPending,   // not read yet
  kOk,        // the last read gave a reading
  kAbsent,    // this kernel or board has no such source
  kDenied,    // it exists and may not be read
  kFailed,    // it exists and could not be read or understood
  kDisabled,  // switched off in the settings
};

std::string_view state_name(SourceState state);

struct SourceStatus {
  SourceState state = SourceState::kPending;
  // Why it is not ok; empty when it is.
  std::string reason;
  // Errc of the reason.
  Errc error = Errc::kIo;
  // The last good reading is older than three intervals: its series are gone.
  bool dropped = false;
  // And nobody read it in that time, in which the machine was awake.
  bool stale = false;
  // Why the last read was skipped on purpose; empty when it was not.
  std::string skipped;

  std::chrono::milliseconds interval{0};
  // How often it is read while reading takes long (SourceInfo::throttled); 0: at its interval.
  std::chrono::milliseconds throttled_interval{0};
  // The longest interval in force since the last good reading: staleness goes by it, so that a
  // reload which shortens the interval does not make old what was in time.
  std::chrono::milliseconds timeout{0};
  Nanoseconds last_success{-1};  // boot clock; negative: never
  Nanoseconds read_time{0};      // of the last read
  Nanoseconds work_time{0};      // reading, parsing and writing together
  std::uint64_t reads = 0;
  std::uint64_t skips = 0;
  std::array<std::uint64_t, 16> errors{};  // by Errc

  bool is_throttled() const { return throttled_interval > interval; }
  std::chrono::milliseconds real_interval() const { return std::max(interval, throttled_interval); }
};

class Sampler {
 public:
  struct Options {
    // Off for one-shot use: a duration or an age means nothing there, and what is read first is not
    // stale because what is read last, or asked of a slow reader, takes long.
    bool with_timing = true;
    // An answer may be under way for so long, however short the interval is; not after a failure.
    Nanoseconds answer_time{0};
  };
  // Called when a source's state or staleness changed, or a skip began or ended.
  using OnChange = std::function<void(const SourceInfo&, const SourceStatus&)>;

  Sampler(const Root& root, const Clock& clock, SampleTable& table,
          std::vector<std::unique_ptr<Source>> sources,
          std::vector<std::unique_ptr<DerivedMetric>> derived_metrics, Options options);

  void on_change(OnChange callback) { on_change_ = std::move(callback); }

  std::size_t size() const { return entries_.size(); }
  const SourceInfo& info(std::size_t i) const { return entries_[i].source->info(); }
  const SourceStatus& status(std::size_t i) const { return entries_[i].status; }
  const AbsentValues& absent(std::size_t i) const { return entries_[i].absent; }
  const Readings& readings() const { return readings_; }

  void set_enabled(std::size_t i, bool enabled);
  void set_interval(std::size_t i, std::chrono::milliseconds interval);

  // Whether to read the source now; a refusal is recorded with its reason.
  bool admit(std::size_t i);
  // It was not read on purpose, and why.
  void skip(std::size_t i, std::string reason);
  // Reads in this process, then as accept().
  void collect(std::size_t i);
  // Takes text that was read elsewhere.
  void accept(std::size_t i, const Snapshot& snapshot, Nanoseconds read_time);
  // The text was unavailable; Errc::kSkipped is a skip().
  void reject(std::size_t i, Error error);

  // After the sources of a cycle: drops what is stale, and writes what needs each cycle: the series
  // of sources whose worst values of a minute are kept, and each derived metric that is not lazy.
  void finish_eager();
  // Everything else, and the sources' own series: before somebody reads the table.
  void finish_lazy();
  void finish_cycle() {
    finish_eager();
    finish_lazy();
  }

 private:
  struct Entry {
    std::unique_ptr<Source> source;
    SnapshotReader reader;
    SourceStatus status;
    AbsentValues absent;
    std::size_t section = 0;
    // Of a source that is spared: not to be read before (boot clock), and what the reading before
    // the last took.
    Nanoseconds not_before{0};
    Nanoseconds earlier_read_time{0};
    bool is_lazy = false;       // no sample of it is needed each cycle
    bool is_unwritten = false;  // the last reading is not in the table yet
    std::size_t unlisted = 0;   // folders, of the last reading
    Nanoseconds written{-1};    // boot clock: of the last reading that is
    Nanoseconds suspended{0};   // before the last good reading, in this boot
  };
  bool admit_captured(std::size_t i);
  void throttle(Entry& entry, Nanoseconds now);
  Nanoseconds suspended() const;
  void set_state(Entry& entry, SourceState state, std::string reason);
  void drop(Entry& entry, std::size_t i);

  const Root& root_;
  const Clock& clock_;
  SampleTable& table_;
  Options options_;
  OnChange on_change_;
  std::vector<Entry> entries_;
  struct Derived {
    std::unique_ptr<DerivedMetric> derived_metric;
    AbsentValues absent;
    std::size_t section = 0;
    bool is_lazy = false;
    bool is_unwritten = false;
  };
  void write(Entry& entry);
  void write(Derived& derived, Nanoseconds now);
  void write_own_series(Nanoseconds now);
  std::vector<Derived> derived_;
  std::size_t own_section_ = 0;
  Readings readings_;
  bool has_news_ = false;  // for the derived metrics
};

// The metrics that the Sampler itself writes, one set for each source.
std::span<const Descriptor> sampler_metrics();

}  // namespace jetmem
