// The daemon's side of jetmem-reader: one request at a time, a deadline on each, and a new reader
// when one does not answer.
//
// A read may hang in the kernel beyond SIGKILL. Then the process is left behind ("wedged"), its
// source is quarantined until the process is really gone (its pidfd says so) and for a growing
// pause after that, and a new reader serves the other sources. Only a bounded number may be
// wedged at a time: beyond it the sources that need a reader fail, saying so.
//
// Everything happens in dispatch(), called when fd() is readable: no thread, no timer outside.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "base/spawn.h"
#include "base/unique_fd.h"
#include "collectors/reader/protocol.h"

namespace jetmem::reader {

struct ClientOptions {
  // systemd's activated socket, tried first when not empty and it exists.
  std::string socket;
  // The program to spawn otherwise; empty: a reader can only come from the socket.
  std::string program;
  // Handed to the spawned program as --root; empty: the live machine.
  std::string root;
  std::chrono::milliseconds deadline{5000};
  std::size_t max_wedged = 5;
};

struct ClientCounters {
  std::uint64_t starts = 0;    // readers started or connected to
  std::uint64_t timeouts = 0;  // reads that did not return by the deadline
  std::uint64_t failures = 0;  // readers that could not be had, died or talked nonsense
};

// Where the present reader comes from. A spawned one has the daemon's own rights and no more.
enum class ReaderKind { kNone, kSocket, kSpawned };

class Client {
 public:
  // Exactly one call for each accepted request: the text, or why there is none.
  using Done = std::function<void(std::string_view source, Result<const Snapshot*> snapshot,
                                  Nanoseconds read_time)>;

  Client(ClientOptions options, const Clock& clock, Spawner& spawner, Done done);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Queues a request. A source that is already waiting is not queued twice. When it is
  // quarantined, or no reader can be had, `done` is called before this returns.
  void request(std::string_view source);

  // During `done` of a source that is followed (Access::kStream): the descriptor, opened for
  // reading and non-blocking, of the one file in the snapshot; invalid when that has an error. What
  // is not taken is closed.
  UniqueFd take_descriptor() { return std::move(descriptor_); }

  // Readable when dispatch() has something to do.
  int fd() const { return epoll_.get(); }
  void dispatch();
  bool idle() const { return !in_flight_ && queue_.empty(); }

  void set_limits(std::chrono::milliseconds deadline, std::size_t max_wedged) {
    options_.deadline = deadline;
    options_.max_wedged = max_wedged;
  }

  // The reader serving now, or -1.
  pid_t pid() const { return pid_; }
  ReaderKind kind() const;
  // Why a spawned reader stands in for the socket's; empty when none does.
  const std::string& fallback_reason() const { return fallback_reason_; }
  // Readers that the kernel does not let go of.
  std::size_t wedged() const;
  const ClientCounters& counters() const { return counters_; }

 private:
  // A reader given up on that is not gone yet.
  struct Leaving {
    std::string source;  // whose read it hangs in; empty when it was merely dismissed
    Child process;
    bool ours = false;     // spawned by us: to be reaped
    Nanoseconds since{0};  // mono clock
  };
  struct Quarantine {
    std::string source;
    Nanoseconds until{0};  // boot clock
    Nanoseconds pause{0};
  };

  void start_next();
  // Serves the queue until a request is in flight, or must wait.
  void serve_queue();
  // Whether the next reader must wait for word of those that were killed a moment ago.
  bool must_wait() const;
  Result<void> ensure_reader();
  Result<void> connect_to_socket();
  Result<void> spawn_program();
  // Takes one packet; false when there is none or the connection is over.
  bool take_packet();
  void on_answer(const AnswerHeader& header, std::size_t payload);
  void on_end();
  // A connection to the socket that no reader spoke on is no reader: falls back to a spawned one.
  void socket_gave_no_reader(std::string_view how);
  void on_deadline();
  void fail_request(Errc code, std::string message);
  // The read did not return: its source goes into quarantine, its reader is given up.
  void time_out();
  // The reader is no good any more: forget it, killing it if it is ours to kill. `source` names
  // the read that it hangs in, if it does.
  void abandon(std::string_view source = {});
  bool is_wedged(const Leaving& leaving) const;
  void collect_gone();
  void set_timer(Nanoseconds from_now);
  Quarantine* quarantine_of(std::string_view source);
  std::optional<Error> refusal(std::string_view source);
  bool watch(int fd);
  Result<void> watch_connection(const std::string& of);
  void unwatch(int fd);

  ClientOptions options_;
  const Clock& clock_;
  Spawner& spawner_;
  Done done_;
  UniqueFd epoll_;
  UniqueFd timer_;

  UniqueFd connection_;
  Child process_;
  pid_t pid_ = -1;
  bool ours_ = false;
  bool greeted_ = false;  // its hello has come: it runs, and what it does not answer hangs
  Nanoseconds next_socket_try_{0};  // mono clock; the socket failed a moment ago
  std::string socket_trouble_;      // how it failed
  std::string fallback_reason_;

  std::deque<std::string> queue_;
  bool in_flight_ = false;
  std::string source_;  // in flight
  std::uint32_t sequence_ = 0;
  Nanoseconds sent_{0};  // mono clock: when the reader could begin with the request
  ByteBuffer stream_;
  Snapshot snapshot_;
  UniqueFd descriptor_;  // came with the present answer
  bool starting_ = false;

  std::vector<Leaving> leaving_;
  std::vector<Quarantine> quarantines_;
  ClientCounters counters_;
};

// Where the reader is installed, or lies in a build tree, seen from the running program; empty
// when it is nowhere.
std::string find_reader_program();

}  // namespace jetmem::reader
