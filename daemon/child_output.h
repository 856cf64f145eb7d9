// A program that is run for what it prints: its pipes, its end, and how much of the loop it may
// take.
//
// It may print nothing, without end, faster than anybody reads, or hang in the kernel beyond
// SIGKILL. So reads are bounded, and a program whose output wakes the loop more than a few times a
// second is read at intervals instead: meanwhile the pipe fills and it waits. Many short lines are
// no flood, though: that is told by how much there was to read at each look.
// One that was killed and is not gone is waited for, without anybody being held up, and nothing is
// started before it is gone: another would hang in the same place.
//
// Of its stderr the end is kept, for the message that says how the program ended. It is read with
// its output, and a few times a second where there is much of it, so that the program need not
// wait.
#pragma once

#include <systemd/sd-event.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
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

class ChildOutput {
 public:
  struct Callbacks {
    // What it printed since; valid during the call, in which kill() may be called.
    std::function<void(std::string_view bytes)> output;
    // Its output is over. `well`: with status 0, or nobody knows its status. `how` is for people:
    // "ended with status 1: no such sensor". Not called after kill().
    std::function<void(bool well, std::string how)> ended;
  };

  static constexpr std::size_t kBytesPerWake = 64U << 10;
  // Found at each look: far more than any program read here has to say in a quarter of a second,
  // and less than the smallest usual pipe holds of lines that leave its pages half empty.
  static constexpr std::size_t kFloodBytes = 16U << 10;
  static constexpr std::size_t kErrorBytes = 200;

  ChildOutput(const Clock& clock, Spawner& spawner, Callbacks callbacks);
  // Ends what runs; nothing that hangs in the kernel holds it up.
  ~ChildOutput();
  ChildOutput(const ChildOutput&) = delete;
  ChildOutput& operator=(const ChildOutput&) = delete;

  // To be called once, before anything is started.
  Result<void> attach(sd_event* event);
  // One that is run for what it does may send its output elsewhere and go on. Else that is an end.
  void let_it_close_its_output() { may_close_output_ = true; }

  // Starts a program; not while one runs or is leaving. Its stdin is /dev/null unless the request
  // has another.
  Result<void> start(SpawnRequest request);
  // Takes the output of a process that somebody else started, from a socket.
  Result<void> read_from(UniqueFd connection);
  // Which process that is, as far as it said so: waited for until it is gone, never killed. Not
  // believed unless it is called by this name. It may rightly live until then (mono clock).
  void know_process(pid_t pid, std::string_view name, Nanoseconds until);
  // Reads what is there, without waiting for the loop to say so.
  void read_now();
  // Ends it now, and all that it started if it is a stranger.
  void kill();

  // Between start() and ended() or kill().
  bool running() const { return running_; }
  // One was killed or given up on or closed its connection, and is not gone yet; wedged: for so
  // long that it hangs.
  bool leaving();
  bool wedged() const;
  pid_t leaving_pid() const { return leaving_.pid; }
  // The process running now; -1 when there is none or it is unknown.
  pid_t pid() const { return process_.pid; }
  // For how long each look has found kFloodBytes or more; 0 when the last did not.
  Nanoseconds flooding() const;
  // The end of what it wrote to stderr, in one printable line.
  std::string last_words();

 private:
  static int on_output(sd_event_source*, int, std::uint32_t, void* self);
  static int on_errors(sd_event_source*, int, std::uint32_t, void* self);
  static int on_errors_timer(sd_event_source*, std::uint64_t, void* self);
  static int on_process(sd_event_source*, int, std::uint32_t, void* self);
  static int on_timer(sd_event_source*, std::uint64_t, void* self);
  Result<void> listen(UniqueFd out, UniqueFd errors);
  Result<void> watch_process();
  enum class Read { kQuiet, kMore, kOver };
  Read read_some();
  bool read_errors();
  void look_for_errors();
  void close_errors();
  void pace();
  void on_end_of_output();
  bool reap(int& status);
  void finish(int status);
  void close_pipes();
  bool leaving_has_ended() const;
  bool leaving_is_gone();
  void look_again(Nanoseconds from_now);
  void end_process();
  void wait_until_it_is_gone();

  const Clock& clock_;
  Spawner& spawner_;
  Callbacks callbacks_;
  sd_event* event_ = nullptr;
  sd_event_source* output_ = nullptr;
  sd_event_source* gone_ = nullptr;
  sd_event_source* timer_ = nullptr;
  sd_event_source* errors_ready_ = nullptr;
  sd_event_source* errors_timer_ = nullptr;

  bool running_ = false;
  bool ours_ = false;
  bool stranger_ = false;
  bool may_close_output_ = false;
  Child process_;
  Nanoseconds may_live_until_{0};  // mono clock; 0: no longer than it takes to die
  UniqueFd out_;
  UniqueFd errors_;
  std::string error_text_;

  Child leaving_;
  bool leaving_ours_ = false;
  Nanoseconds leaving_since_{0};  // mono clock
  Nanoseconds leaving_until_{0};  // likewise
  Nanoseconds look_pause_{0};     // where there are no pidfds

  // Wake-ups within the present second.
  Nanoseconds second_{0};
  unsigned wakes_ = 0;
  bool paced_ = false;  // read at intervals
  Nanoseconds flood_since_{0};
};

}  // namespace jetmem
