// SPDX-License-Identifier: Apache-2.0
// Kernel-log events for people: blocks of text that fit a terminal of 80 columns.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cli/draw/terminal.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/text_log.h"
#include "history/event_record.h"

namespace jetmem {

// In dmesg's format: "12.345678".
std::string seconds_text(std::chrono::microseconds stamp);

// Describes the records of a log that were not counted, "3 records missing; ..."; empty: none.
std::string omitted_text(const kernel_log::TextLog::Counts& counts,
                         std::string_view lost = "missing");

// Recorded events, oldest first, folded: those of one kind and subject in close
// succession are shown once, with their number and end.

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
    double suppressed = 0;            // messages, of all that report it
    std::optional<Nanoseconds> last;  // on the wall clock, or else since boot
  };
  void print_first();

  std::function<void(const std::string&)> print_;
  std::deque<Row> rows_;
  std::set<std::string> explained_;
};

}  // namespace jetmem
