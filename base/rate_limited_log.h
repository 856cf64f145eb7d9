// SPDX-License-Identifier: Apache-2.0
// Limits repeated log entries: at most so many of one key, and of all keys, within a window. The
// others are counted, and the next entry of the key has their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"

namespace jetmem {

// How many entries were written within a window, which begins with the first of them.
class LogWindow {
 public:
  explicit LogWindow(Nanoseconds length) : length_(length) {}

  bool is_over(Nanoseconds now) const { return used_ == 0 || now - begin_ >= length_; }
  bool has_room(Nanoseconds now, std::uint32_t most) const { return is_over(now) || used_ < most; }
  void count(Nanoseconds now) {
    if (is_over(now)) {
      begin_ = now;
      used_ = 0;
    }
    ++used_;
  }
  std::uint32_t used() const { return used_; }

 private:
  Nanoseconds length_;
  Nanoseconds begin_{0};
  std::uint32_t used_ = 0;
};

class RateLimitedLog {
 public:
  struct Options {
    Nanoseconds window = std::chrono::minutes(10);
    // The last suppressed entry of a key is written once its window is over.
    bool writes_last = false;
    // The last entry that fits says that further ones are suppressed.
    bool announces = true;
    // Beyond these the key that was silent longest is forgotten.
    std::size_t max_keys = 256;
  };
  // May differ between entries: lower for what matters less.
  struct Limits {
    std::uint32_t per_key = 6;
    std::uint32_t in_all = std::numeric_limits<std::uint32_t>::max();
  };
  using Sink = std::function<void(LogEntry)>;

  RateLimitedLog(Sink sink, Options options)
      : sink_(std::move(sink)), options_(options), all_(options.window) {}
  RateLimitedLog(Log& log, Options options)
      : RateLimitedLog([&log](LogEntry entry) { log.write(std::move(entry)); }, options) {}

  void write(Nanoseconds now, LogEntry entry, Limits limits, std::string_view key = {});
  // Cheap while nothing is suppressed.
  void flush_due(Nanoseconds now);
  // Before the end.
  void flush_all();

  // Entries that were not written, since start.
  std::uint64_t suppressed() const { return suppressed_; }

 private:
  struct Stream {
    std::string key;
    LogWindow window;
    Nanoseconds last_at{0};
    std::uint64_t suppressed = 0;
    LogEntry last;
    Limits last_limits;
  };
  Stream& stream_of(std::string_view key, Nanoseconds now);
  void write_last(Stream& stream);
  void log_lost();

  Sink sink_;
  Options options_;
  LogWindow all_;
  std::vector<Stream> streams_;
  std::uint64_t suppressed_ = 0;
  std::uint64_t lost_ = 0;  // suppressed, and no entry has their number
};

}  // namespace jetmem
