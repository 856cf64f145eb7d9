// SPDX-License-Identifier: Apache-2.0
// The kernel log as jetmem follows it: lines in, events counted and passed on.
//
// One object whatever the lines come from: records of /dev/kmsg, a captured file, the journal. It
// knows which records it has seen, so that after a restart within the same boot nothing is counted
// twice or missed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/kernel_log/line/record.h"
#include "collectors/kernel_log/line_feed.h"
#include "collectors/kernel_log/tally.h"

namespace jetmem::kernel_log {

struct LogCounters {
  std::uint64_t records = 0;
  // Records that no event came of because a process wrote them into the kernel's log.
  std::uint64_t foreign = 0;
  std::uint64_t malformed = 0;
  // Records that nobody can read any more, by when that happened.
  std::uint64_t lost_before_start = 0;  // overwritten before this boot's first start of the daemon
  std::uint64_t lost = 0;               // overwritten, or too large
  std::uint64_t journal_losses = 0;     // times the journal omitted lines
};

class KernelLog {
 public:
  // Called for each event, right after it was counted.
  using OnEvent = std::function<void(const Event&, const Occurrence&)>;

  struct Options {
    Soc soc = Soc::kUnknown;
    // Believe what processes write into /dev/kmsg: for tests.
    bool accept_user_records = false;
  };

  KernelLog(const Clock& clock, Options options, OnEvent on_event);
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  void set_accept_user_records(bool accept) { feed_.set_accept_foreign(accept); }
  // A site's own messages, or null, for lines from here on. Those before must live until there is
  // nothing held.
  void set_site_messages(const Catalogue* site) {
    site_ = site;
    feed_.set_catalogues({.second = site});
  }
  // Null: none.
  const Catalogue* site_messages() const { return site_; }

  // One record of /dev/kmsg as read(2) gave it.
  void record(std::string_view raw);
  // One line from elsewhere, or a record there, which may be several.
  void line(const LogLine& line);
  // The journal omitted lines, nobody knows how many.
  void journal_loss() { ++counters_.journal_losses; }
  // From now on lines come from elsewhere, whose first ones may be those seen last.
  void input_changed() { skip_until_ = last_stamp_; }

  // The log is read from its start, again perhaps: what is new in it was there before us, until
  // caught_up() says that all of it has been read and events from here on are news.
  void begin() { caught_up_ = false; }
  void caught_up();
  bool is_caught_up() const { return caught_up_; }

  // Events of several lines wait until they are complete or flushed.
  bool holding() const { return feed_.holding(); }
  void flush() { feed_.flush(); }

  const Tally& tally() const { return tally_; }
  Tally& tally() { return tally_; }
  const LogCounters& counters() const { return counters_; }
  std::optional<std::uint64_t> last_seq() const { return last_seq_; }
  std::optional<std::chrono::microseconds> last_stamp() const { return last_stamp_; }
  // The last was a line() of this machine: records up to its stamp were seen, whatever their
  // number.
  bool last_was_line() const { return last_was_line_; }
  // Records up to these were seen by a daemon before us in this boot.
  void resume_after(std::optional<std::uint64_t> seq,
                    std::optional<std::chrono::microseconds> stamp, bool last_was_line) {
    last_seq_ = seq;
    last_stamp_ = stamp;
    last_was_line_ = last_was_line;
  }
  void restore_lost(std::uint64_t lost, std::uint64_t lost_before_start) {
    counters_.lost = lost;
    counters_.lost_before_start = lost_before_start;
  }

  // Stamps are taken as times since boot, not compared with this machine's clocks: for a capture.
  void set_captured() { captured_ = true; }

 private:
  void feed(LogLine line);
  void on_event(const Event& event);
  std::optional<Nanoseconds> time_of(const Event& event) const;

  const Clock& clock_;
  OnEvent on_event_;
  const Catalogue* site_ = nullptr;
  LineFeed feed_;
  Tally tally_;
  LogCounters counters_;
  Record record_;
  std::optional<std::uint64_t> last_seq_;
  std::optional<std::chrono::microseconds> last_stamp_;  // of the kernel's own lines
  std::optional<std::chrono::microseconds> skip_until_;
  std::uint64_t lines_ = 0;
  bool last_was_line_ = false;
  bool caught_up_ = false;
  bool captured_ = false;
};

}  // namespace jetmem::kernel_log
