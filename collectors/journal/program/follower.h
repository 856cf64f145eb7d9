// SPDX-License-Identifier: Apache-2.0
// One voice of the journal, read from where it was left off and then followed. Part of the program
// jetmem-journal, not of the room's library: it is all that uses sd-journal.
#pragma once

#include <poll.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "collectors/journal/protocol.h"

namespace jetmem::journal {

// The daemon's end of it.
inline constexpr int kConnection = 3;

struct Options {
  std::array<bool, kVoices> voices{};
  std::array<std::string, kVoices> cursors;
  std::vector<std::string> needles;
  std::string directory;
  // Entries looked at per second and voice, so that a service that logs without end does not make
  // this program run without end.
  double rate = 5000;
  bool follow = true;
};

// Blocks while the daemon does not read: there is nothing else to do. Ends the program when it is
// gone.
void hand_over(const Packet& packet);
void hand_over(PacketKind kind, Voice voice, std::string_view text, std::uint64_t count = 0);
// Says why, and ends the program.
[[noreturn]] void end_blind(const std::string& why);

class Follower {
 public:
  enum class Outcome { kEnd, kMore, kPaused };

  Follower(const Options& options, Voice voice);
  ~Follower() { sd_journal_close(journal_); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Ends the program where there is nothing to read.
  void start();
  // Looks at the next entries; an end of the program where that fails.
  Outcome read_some();
  void hand_over_position();
  bool caught_up() const { return caught_up_; }
  pollfd poll_entry() const {
    return {sd_journal_get_fd(journal_), static_cast<short>(sd_journal_get_events(journal_)), 0};
  }
  // How long the files may go unlooked at where the kernel does not tell of changes.
  int timeout_ms() const;
  void process();

 private:
  void check(int result, const char* what) const;
  void match(const std::string& text);
  // Ends the program where journald has written nothing since this boot.
  void need_entry();
  void open();
  // Behind the line of this cursor; of none, at the beginning.
  void seek_after(const std::string& cursor);
  void seek_tail();
  void check_entry();
  void report_missed(std::string_view message);
  bool has_needle(std::string_view text) const;
  // Without "NAME="; nothing where the entry has none. Valid until the next call.
  std::optional<std::string_view> field(const char* name);
  std::optional<std::uint64_t> number(const char* name);
  std::string cursor() const;
  void limit_mapped();
  void refill();

  const Options& options_;
  const Voice voice_;
  SystemClock clock_;
  sd_journal* journal_ = nullptr;
  sd_id128_t boot_{};
  bool positioned_ = false;  // on an entry, so there is a cursor
  bool caught_up_ = false;
  std::optional<Nanoseconds> lagging_since_;
  double tokens_;
  Nanoseconds refilled_{0};
  std::string text_;
  std::string unit_;
  std::uint64_t examined_ = 0;  // since what is mapped was last limited
  std::uint64_t unreadable_ = 0;
  int unreadable_error_ = 0;
};

}  // namespace jetmem::journal
