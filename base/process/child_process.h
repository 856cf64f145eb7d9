// SPDX-License-Identifier: Apache-2.0
// A program that is started for what it prints or answers: its pipes or its socket, its end, and
// how much of the loop it may take. All programs that jetmem starts or connects to are one of
// these; each user adds only its protocol.
//
// A program may be missing, print nothing, print without end, or hang in the kernel beyond SIGKILL.
// Reads are bounded, and a program whose output wakes the loop more than a few times a second is
// read at intervals instead: meanwhile the pipe fills and the program waits. Many short lines are
// no flood: only how much there was at each look counts.
// One that was killed and is not gone is waited for without blocking, and nothing is started in its
// place before it is gone: another would hang in the same place.
//
// The end of its stderr is kept, for the message about its end. It is read with its output, and a
// few times a second where there is much of it, so that the program need not wait.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/spawn.h"
#include "base/unique_fd.h"

namespace jetmem {

// How long to wait before the next try: doubled with each one that failed.
class Backoff {
 public:
  Backoff(Nanoseconds first, Nanoseconds longest) : first_(first), longest_(longest) {}
  Nanoseconds next();
  void reset() { pause_ = Nanoseconds(0); }

 private:
  Nanoseconds first_;
  Nanoseconds longest_;
  Nanoseconds pause_{0};
};

enum class ChildProcessFailure : std::uint8_t {
  kNotStarted,     // it could not be executed
  kExited,         // by itself, before it was asked to
  kTimeout,        // it printed nothing for too long, and was ended
  kFlood,          // it printed far more than it should, and was ended
  kWedged,         // it hangs in the kernel beyond SIGKILL
  kInvalidOutput,  // it ended well, and what it printed is not what it should
};
inline constexpr std::size_t kChildProcessFailures = 6;

// How a program ended.
struct ChildEnd {
  // With status 0, or its status is unknown.
  bool well = true;
  int signal = 0;       // that ended it; 0: none
  int exit_status = 0;  // if it exited
  // For people: "ended with status 1: no such sensor".
  std::string how;
};

class ChildProcess {
 public:
  struct Callbacks {
    // What it printed since; valid during the call, in which kill() may be called.
    std::function<void(std::string_view bytes)> output;
    // Its output is over, or it closed it and was killed. Not called after kill().
    std::function<void(ChildEnd end)> ended;
    // In place of `output`, for programs that talk in packets: channel() is readable. False when
    // the connection is over. kill() and start() may be called.
    std::function<bool()> packets{};
    // One that was killed is gone, found out in the loop. May be empty.
    std::function<void()> gone{};
  };

  // The number of the socket in a program that talks in packets.
  static constexpr int kChannel = 3;
  static constexpr std::size_t kBytesPerWake = 64U << 10;
  // Found at each look: far more than any program read here prints in a quarter of a second, and
  // less than the smallest usual pipe holds of lines that leave its pages half empty.
  static constexpr std::size_t kFloodBytes = 16U << 10;
  static constexpr std::size_t kErrorBytes = 200;

  ChildProcess(const Clock& clock, Spawner& spawner, Callbacks callbacks);
  // Ends what runs; nothing that hangs in the kernel blocks it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // To be called once, before anything is started.
  Result<void> attach(EventLoop& loop);
  // A program that is run for what it does may close its stdout and go on. Else that is an end.
  void allow_stdout_close() { allow_stdout_close_ = true; }

  // Starts a program; not while one runs or terminates. Its stdin is /dev/null unless the request
  // has another; one that talks in packets receives a socket and no pipes.
  Result<void> start(SpawnRequest request);
  // Takes the output of a process that somebody else started, from a socket.
  Result<void> read_from(UniqueFd connection);
  // Which process that is: waited for until it is gone, never killed. Where only the process itself
  // says so, it is not believed unless it has this name. It may live until then (mono clock).
  void set_peer_process(pid_t pid, std::string_view name, Nanoseconds until);
  // That process need not be waited for after all.
  void forget_peer();
  // Reads what is there, without waiting for the loop.
  void read_now();
  // Ends it now, and all that it started if it has its own process group.
  void kill();

  // Between start() and ended() or kill().
  bool running() const { return running_; }
  // One was killed, given up or closed its connection, and is not gone yet; wedged: for so long
  // that it hangs.
  bool is_terminating();
  bool wedged() const;
  pid_t terminating_pid() const { return terminating_.pid; }
  // The process running now; -1 when there is none or it is unknown.
  pid_t pid() const { return process_.pid; }
  // What it is connected by; -1 when it is not.
  int channel() const { return out_.get(); }
  // For how long each look has found kFloodBytes or more; 0 when the last did not.
  Nanoseconds flooding() const;
  // The end of its stderr, in one printable line.
  std::string stderr_tail();
  // How much of stderr was read in this run.
  std::size_t stderr_bytes() const { return error_bytes_; }

 private:
  Result<void> check_free();
  Result<void> listen(UniqueFd out, UniqueFd errors);
  Result<void> watch_process(const Child& process);
  enum class Read { kQuiet, kMore, kOver };
  Read read_some();
  bool read_errors();
  void poll_stderr();
  void close_errors();
  void pace();
  void on_end_of_output();
  void on_process();
  void on_timer();
  bool reap(int& status);
  void finish(int status);
  void close_pipes();
  bool terminating_has_ended() const;
  bool terminating_is_gone();
  void check_terminating();
  void dismiss_process();
  void wait_for_exit();

  const Clock& clock_;
  Spawner& spawner_;
  Callbacks callbacks_;
  EventLoop* loop_ = nullptr;
  Watch output_;
  Watch exit_;
  Watch errors_ready_;
  Timer timer_;
  Timer errors_timer_;

  bool running_ = false;
  unsigned runs_ = 0;  // a callback may have ended one and started the next
  bool is_ours_ = false;
  bool own_process_group_ = false;
  bool allow_stdout_close_ = false;
  Child process_;
  Nanoseconds allowed_until_{0};  // mono clock; 0: no longer than it takes to die
  UniqueFd out_;
  UniqueFd errors_;
  std::string error_text_;
  std::size_t error_bytes_ = 0;

  Child terminating_;
  bool terminating_is_ours_ = false;
  Nanoseconds terminating_since_{0};  // mono clock
  Nanoseconds terminating_until_{0};  // likewise
  Nanoseconds poll_pause_{0};         // where there are no pidfds

  // Wake-ups within the present second.
  Nanoseconds second_{0};
  unsigned wakes_ = 0;
  bool paced_ = false;  // read at intervals
  Nanoseconds flood_since_{0};
};

}  // namespace jetmem
