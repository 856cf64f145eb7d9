// SPDX-License-Identifier: Apache-2.0
// The daemon's side of jetmem-journal: starts it, takes its packets, and starts it anew, from where
// it was, when it ends or does not answer.
//
// Reading the journal may hang in the storage below it, beyond SIGKILL. Then nothing is started
// before that process is gone: another would hang in the same place.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/process/event_loop.h"
#include "base/spawn.h"
#include "collectors/journal/protocol.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::journal {

struct ClientOptions {
  std::string program;
  // A directory of journal files in place of the system's journal; all its boots are read.
  std::string directory{};
  // A process's line is handed over where it may be a message that jetmem knows, or when its first
  // 4 KiB hold one of these, byte for byte.
  std::vector<std::string> needles{};
  // By voice: where to go on; empty: from the present boot's first line.
  std::array<std::string, kVoices> cursors{};

  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{300'000};
  std::chrono::milliseconds ping_interval{60'000};
  std::chrono::milliseconds timeout{10'000};
};

struct State {
  std::string blind;       // why the journal is not read now; empty: it is, or is about to be
  bool caught_up = false;  // what was there at the start was read; stays true over restarts
  bool received = false;   // the program that runs now has sent something
  bool operator==(const State&) const = default;
};

struct Lost {
  std::optional<std::uint64_t> count;
  std::string_view why;
};

struct Callbacks {
  // `from_before`: it was in the journal already when the client first started to read; `late`: it
  // waited there until jetmem-journal ran, or ran again. The views are valid during the call.
  std::function<void(const kernel_log::LogLine&)> line;
  std::function<void()> lines_done;         // after those that came at once
  std::function<void(const State&)> state;  // at each change
  std::function<void(const Lost&)> lost;
};

struct ClientCounters {
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;  // times that lines were lost; each is reported to `lost`
  std::uint64_t starts = 0;
  std::uint64_t restarts = 0;  // of `starts`, those after the first
  std::uint64_t silent = 0;    // given up because they did not answer
};

class Client {
 public:
  // Starts nothing before follow().
  Client(ClientOptions options, const Clock& clock, Spawner& spawner, Callbacks callbacks);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // To be called once, before follow().
  Result<void> attach(EventLoop& loop);
  // Which lines are wanted from now on; neither ends the program.
  void follow(bool kernel, bool processes);
  // In place of those of the options. Where they are others, the program is started anew.
  void set_needles(std::vector<std::string> needles);
  bool needs_kernel_log() const { return kernel_; }
  bool needs_process_lines() const { return processes_; }

  const State& state() const { return state_; }
  // How far a voice was read; to be kept and handed to the next client. Empty: nowhere yet.
  const std::string& cursor(Voice voice) const {
    return options_.cursors[static_cast<std::size_t>(voice)];
  }
  void set_cursor(Voice voice, std::string cursor) {
    options_.cursors[static_cast<std::size_t>(voice)] = std::move(cursor);
  }
  // The program running now, or -1.
  pid_t pid() const { return child_.pid(); }
  // 1 while the kernel does not let go of one that was killed.
  std::size_t wedged() const { return child_.wedged() ? 1 : 0; }
  const ClientCounters& counters() const { return counters_; }

 private:
  enum class Waits {
    kForNothing,
    kToStart,    // for the pause to be over
    kToPing,     // for the time of the next ping
    kForAnswer,  // for any packet
    kForExit,    // for a killed one to be gone
  };

  void start_anew();
  void spawn();
  // At most 256. False when the connection is over.
  bool take_packets();
  enum class Taken { kNone, kPacket, kOver };
  Taken take_packet();
  void on_packet(const Packet& packet);
  void on_end(const ChildEnd& end);
  void on_timer();
  void ping();
  // Kills it and starts another after a pause.
  void abandon_run(std::string why);
  void wait_for_terminating();
  void wait(Waits what, std::chrono::milliseconds how_long);
  void wait_to_start();
  void set_state(std::string blind, bool caught_up, bool received);

  ClientOptions options_;
  bool kernel_ = false;
  bool processes_ = false;
  Callbacks callbacks_;
  ChildProcess child_;
  Timer timer_;
  Backoff pause_;
  Waits waits_ = Waits::kForNothing;
  bool logged_blind_ = false;  // the running one, why it will end
  bool run_caught_up_ = false;
  State state_;
  ClientCounters counters_;
};

// Where the program is installed, or lies in a build tree, seen from the running program; empty
// when it is nowhere.
std::string find_journal_program();

}  // namespace jetmem::journal
