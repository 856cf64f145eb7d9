// Recorded events for people, oldest first, folded as EventList folds: those of one kind and
// subject that follow each other closely are told once, with how often and until when.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "history/event_record.h"

namespace jetmem {

class EventRecordList {
 public:
  static constexpr Nanoseconds kMaxGap = std::chrono::minutes(1);
  static constexpr std::size_t kMaxRows = 256;

  explicit EventRecordList(std::function<void(const std::string&)> print)
      : print_(std::move(print)) {}

  void add(const EventRecord& record);
  void finish();

 private:
  struct Row {
    EventRecord first;
    std::string block;
    std::uint64_t count = 0;
    std::optional<Nanoseconds> last;  // on the wall clock, or else since boot
  };
  void print_first();

  std::function<void(const std::string&)> print_;
  std::deque<Row> rows_;
  std::set<std::string> explained_;
};

// "2026-11-20 02:11:47", with "~" behind it where that clock was never known to be right; since
// boot where nobody knows, "[12.345678]".
std::string event_time_text(const EventRecord& record);

}  // namespace jetmem
