// Tells the log when a source's state changes: one line for a change, never one for a tick, and
// a bounded number for a source that cannot make up its mind.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/sampler.h"

namespace jetmem {

class SourceLog {
 public:
  // At most this many changes of one source are logged within the window.
  static constexpr int kMaxChanges = 6;
  static constexpr Nanoseconds kWindow = std::chrono::minutes(10);

  SourceLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void changed(const SourceInfo& info, const SourceStatus& status);

  // To be called now and then: says how a source ended up whose last changes were withheld.
  void catch_up();

  // Changes that were not logged, since start.
  std::uint64_t withheld() const { return withheld_; }

 private:
  struct Budget {
    Nanoseconds window_begin{0};
    int used = 0;
    std::uint64_t withheld = 0;
    bool seen = false;  // false: the first word of this source since start
    LogEntry last;      // the newest entry that was withheld
  };
  Log& log_;
  const Clock& clock_;
  std::map<std::string_view, Budget> budgets_;
  std::uint64_t withheld_ = 0;
};

}  // namespace jetmem
