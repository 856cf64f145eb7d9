// SPDX-License-Identifier: Apache-2.0
// The daemon's flight recorder: creates the Recorder from the settings and the environment, and
// passes it what happens: events of the kernel's log, changes of alerts, starts and stops, memory
// that runs short.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/device/boot/marks.h"
#include "collectors/kernel_log/tally.h"
#include "config/settings.h"
#include "history/recorder/recorder.h"
#include "metrics/sample.h"
#include "rules/engine/transition.h"

namespace jetmem {

class HistoryFeed {
 public:
  struct Options {
    HistorySettings settings;
    std::string state_directory;  // that systemd made; empty: none
    bool live = true;
    std::string boot_id;
    // Under --root: how long its machine had run when it was captured, or when its story begins.
    // That moment is taken for the one at which we start: its files are read as of now, too.
    std::optional<Nanoseconds> captured_uptime;
  };
  // From these on what waits is written at once: the level of jetmem_memory_pressure_level, and the
  // share of time in which all tasks were stalled on memory. It is armed again below kCalm.
  static constexpr double kPressureLevel = 2;
  static constexpr double kStallRatio = 0.1;
  static constexpr double kCalm = 0.05;
  static constexpr std::chrono::milliseconds kTimeout{2000};
  // The kernel itself takes hours to call a clock unsynchronised.
  static constexpr std::chrono::hours kSynchronizedFor{3};

  HistoryFeed(Options options, const Clock& clock, Log& log);

  void start();
  void kernel_event(const kernel_log::Event& event, const kernel_log::Occurrence& occurrence);
  void transition(const Transition& transition);
  // What a person noted, in this boot or an earlier one.
  void mark(const boot::Mark& mark, const std::string& this_boot);
  // Whether a time server keeps the machine's clock in step: times are recorded as certain then,
  // for as long as that counts as known.
  void set_clock_synchronized(bool is_synchronized);
  // Before cycle(): looks for what is urgent in the table. Whether cycle() will record a step of
  // it, so that all of it must be current.
  bool is_step_due(const SampleTable& table);
  void cycle(const SampleTable& table, bool is_whole = true);
  void finish(const SampleTable& table);

  History& history() { return recorder_.history(); }
  void write(SampleWriter& out) const { recorder_.write(out); }
  static std::span<const Descriptor> metrics() { return Recorder::metrics(); }

 private:
  struct Watched {
    std::string_view key;
    std::size_t section = 0;
    std::size_t slot = 0;
    bool is_there = false;
    double value(const SampleTable& table) const;
  };
  // Of an event's own clock, on ours; absent where the two have nothing to do with each other.
  std::optional<Nanoseconds> on_our_clock(std::optional<Nanoseconds> time) const;
  void find_watched(const SampleTable& table);
  void watch(const SampleTable& table);

  const Clock& clock_;
  bool live_;
  std::optional<Nanoseconds> captured_uptime_;
  Nanoseconds shift_{0};  // from a captured machine's boot clock to ours
  std::atomic<std::int64_t> synchronized_until_{
      0};  // boot clock, ns; read by the recorder's thread
  Recorder recorder_;
  // By entry of the tally: the record that waits for more alike.
  std::array<std::uint64_t, kernel_log::Tally::kMaxKeys> alike_{};
  std::array<std::uint64_t, kernel_log::Tally::kMaxGuesses> alike_guesses_{};
  Watched level_{"jetmem_memory_pressure_level"};
  Watched stall_{"jetmem_pressure_stall_ratio{kind=\"full\",resource=\"memory\",window=\"10s\"}"};
  std::uint64_t shape_ = 0;
  bool is_found_ = false;
  bool was_high_ = false;
  bool was_stalled_ = false;
};

}  // namespace jetmem
