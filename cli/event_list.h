// A list of events, oldest first, in which a storm stays readable: events of one kind that agree in
// the kind's key fields are told once, with how often and until when.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "collectors/kernel_log/event.h"

namespace jetmem {

class EventList {
 public:
  // Later than this behind the one before, an event is told anew.
  static constexpr Nanoseconds kMaxGap = std::chrono::minutes(1);
  static constexpr std::size_t kMaxRows = 256;

  explicit EventList(std::function<void(const std::string&)> print) : print_(std::move(print)) {}

  // `wall` is the moment, where that is known. Otherwise the time since boot is shown.
  void add(const kernel_log::Event& event, std::optional<Nanoseconds> wall);
  void finish();

 private:
  struct Row {
    std::string key;
    std::string block;
    std::uint64_t repeats = 0;
    bool has_wall = false;
    std::optional<Nanoseconds> first;  // on the wall clock, or since boot
    std::optional<Nanoseconds> last;
  };
  Row* same_as(const std::string& key, const Row& row);
  void print_first();

  std::function<void(const std::string&)> print_;
  std::deque<Row> rows_;
  std::array<bool, kernel_log::kKindCount> explained_{};
};

}  // namespace jetmem
