// What the journal is told of alerts: an entry for each transition, with cause, remedy and runbook
// in its fields. An alert that flaps is told a few times, then as a digest; what it ends in is
// always told.
//
// What is only pending cannot use up the room of what fires, nor can all the others together that
// of a critical alert which begins to fire.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "health/rules/transition.h"

namespace jetmem {

class AlertLog {
 public:
  // Entries for one alert (a rule and its labels) within kWindow; and for all together.
  static constexpr std::uint32_t kPerAlert = 6;
  static constexpr std::uint32_t kOfAll = 120;
  // Of these, how many may tell what never fired; and those left to critical alerts that fire.
  static constexpr std::uint32_t kMinorPerAlert = 3;
  static constexpr std::uint32_t kMinorOfAll = 60;
  static constexpr std::uint32_t kLeftToCritical = 20;
  static constexpr Nanoseconds kWindow = std::chrono::minutes(10);
  static constexpr std::size_t kMaxTracks = 256;

  explicit AlertLog(Log& log) : log_(log) { tracks_.reserve(kMaxTracks); }
  void set_runbooks(std::string directory) { runbooks_ = std::move(directory); }

  void tell(const Transition& transition);
  // Writes the digests that are due. Cheap when there are none.
  void catch_up(Nanoseconds now);
  // Before the rules that transitions point to are gone.
  void forget();

  // Transitions that had no entry of their own.
  std::uint64_t withheld() const { return withheld_; }

 private:
  struct Track {
    std::string key;
    Nanoseconds window{0};
    std::uint32_t told = 0;
    std::uint32_t held_back = 0;
    Transition last;
  };
  Track& track_of(const Transition& transition);
  void begin_window(Nanoseconds now);
  void say_lost();
  bool has_room(const Transition& transition) const;
  bool may_tell(const Track& track, const Transition& transition) const;
  void write(const Transition& transition, std::uint32_t held_back);

  Log& log_;
  std::string runbooks_;
  std::vector<Track> tracks_;
  Nanoseconds window_{0};
  std::uint32_t in_window_ = 0;
  std::uint64_t withheld_ = 0;
  std::uint64_t lost_ = 0;  // held back, and their alert was given up: not even in a digest
};

// The entry for a transition, complete.
LogEntry alert_entry(const Transition& transition, const std::string& runbooks);

}  // namespace jetmem
