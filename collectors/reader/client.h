// SPDX-License-Identifier: Apache-2.0
// The daemon's side of jetmem-reader: one request at a time, a deadline on each, and a new reader
// when one does not answer.
//
// A read may hang in the kernel beyond SIGKILL ("wedged"). Then its source is quarantined until
// that process is gone and for a growing pause after that, and a new reader serves the other
// sources. Meanwhile a source that can is read in part (SourceInfo::can_spare); where that hangs
// too, readings in part have a quarantine of their own. Only a bounded number may be wedged at a
// time: beyond it the sources that need a reader fail, with that reason.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/root/snapshot.h"
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
  // Called before answers are taken; may request. May be empty.
  std::function<void()> before_answers{};
  // Sources that are known to hang when read whole: read in part from the beginning, where they can
  // (SourceInfo::can_spare).
  std::vector<std::string_view> in_part{};
  // Of this source alone a descriptor is taken; empty: of any.
  std::string stream_source{};
  // Closes a descriptor that nobody takes: even that may hang. Empty: it is closed at once.
  std::function<void(UniqueFd)> dispose{};
};

struct ClientCounters {
  std::uint64_t starts = 0;    // readers started or connected to
  std::uint64_t timeouts = 0;  // reads that did not return by the deadline
  std::uint64_t failures = 0;  // readers that did not start, died or broke the protocol
};

// Where the present reader comes from. A spawned one has only the daemon's own rights.
enum class ReaderKind { kNone, kSocket, kSpawned };

class Client {
 public:
  // Exactly one call for each accepted request: the text, or why there is none.
  using Done = std::function<void(std::string_view source, Result<const Snapshot*> snapshot,
                                  Nanoseconds read_time)>;

  Client(ClientOptions options, const Clock& clock, Spawner& spawner, Done done);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // To be called once, before the first request.
  Result<void> attach(EventLoop& loop);

  // Queues a request. A source that is already waiting is not queued twice. When it is
  // quarantined, or there is no reader, `done` is called before this returns.
  void request(std::string_view source);

  // During `done` of a source that is followed (Access::kStream): the descriptor, opened for
  // reading and non-blocking, of the one file in the snapshot; invalid when that has an error. That
  // it is what it should be is only the reader's word. What is not taken is disposed of.
  UniqueFd take_descriptor() { return std::move(descriptor_); }

  bool idle() const { return !in_flight_ && queue_.empty(); }

  void set_limits(std::chrono::milliseconds deadline, std::size_t max_wedged) {
    options_.deadline = deadline;
    options_.max_wedged = max_wedged;
  }

  // The reader serving now, or -1.
  pid_t pid() const { return current_ != nullptr ? current_->child.pid() : -1; }
  ReaderKind kind() const;
  // Why a spawned reader stands in for the socket's; empty when none does.
  const std::string& fallback_reason() const { return fallback_reason_; }
  // Readers that the kernel does not let go of.
  std::size_t wedged() const;
  const ClientCounters& counters() const { return counters_; }
  // The source whose last answer was of a part only; empty: none.
  const std::string& read_in_part() const { return read_in_part_; }

 private:
  // A reader that serves, terminates, or can be started again.
  struct Reader {
    Reader(const Clock& clock, Spawner& spawner, ChildProcess::Callbacks callbacks)
        : child(clock, spawner, std::move(callbacks)) {}
    std::string reading;  // that it hangs in; empty: none
    ChildProcess child;
  };
  struct Quarantine {
    std::string reading;
    Nanoseconds until{0};  // boot clock
    Nanoseconds pause{0};
  };

  void start_next();
  // Serves the queue until a request is in flight, or must wait.
  void serve_queue();
  // Whether the next reader must wait for word of those that were killed a moment ago.
  bool must_wait() const;
  bool is_connected() const { return current_ != nullptr && current_->child.channel() >= 0; }
  // One that neither serves nor terminates.
  Result<Reader*> free_reader();
  Result<void> ensure_reader();
  Result<void> connect_to_socket();
  Result<void> spawn_program();
  // False when the connection is over.
  bool take_packets();
  enum class Taken { kNone, kPacket, kOver };
  Taken take_packet();
  void refuse_packet(std::string message);
  void dispose(UniqueFd descriptor);
  Taken take_content(ssize_t n, const AnswerHeader& header, int flags, pid_t sender,
                     std::size_t descriptors);
  bool on_answer(const AnswerHeader& header, std::size_t payload);
  void on_end(const ChildEnd& end);
  // A connection to the socket that no reader spoke on is no reader: falls back to a spawned one.
  void handle_socket_failure(std::string_view how);
  void on_timer();
  void fail_request(Errc code, std::string message);
  // The read did not return: its source goes into quarantine, its reader is given up.
  void time_out();
  // Gives up the reader, killing it if it is ours. `reading` names what it hangs in.
  void abandon(std::string_view reading = {});
  void reap_exited();
  std::size_t terminating() const;
  Quarantine* quarantine_of(std::string_view reading);
  // `reading`: the name of a source, or what part_of() makes of it.
  std::optional<Error> quarantine_error(std::string_view reading);
  bool must_spare(std::string_view source);
  // What is in flight.
  std::string reading() const;
  std::optional<Error> refusal(std::string_view source);

  ClientOptions options_;
  const Clock& clock_;
  Spawner& spawner_;
  Done done_;
  EventLoop* loop_ = nullptr;
  Timer timer_;

  // At most those that may be wedged, and the one that serves.
  std::vector<std::unique_ptr<Reader>> readers_;
  Reader* current_ = nullptr;
  bool is_ours_ = false;
  bool greeted_ = false;    // its hello has come: it runs, and what it does not answer hangs
  Nanoseconds over_at_{0};  // mono clock; when its connection ended
  Nanoseconds next_socket_try_{0};  // mono clock; the socket failed a moment ago
  std::string socket_error_;        // how it failed
  std::string fallback_reason_;

  std::deque<std::string> queue_;
  bool in_flight_ = false;
  std::string source_;  // in flight
  bool is_sparing_ = false;
  std::string read_in_part_;
  std::uint32_t sequence_ = 0;
  std::size_t packets_ = 0;  // since the request
  Nanoseconds sent_{0};  // mono clock: when the reader could begin with the request
  ByteBuffer stream_;
  Snapshot snapshot_;
  UniqueFd descriptor_;  // came with the present answer
  bool starting_ = false;

  std::vector<Quarantine> quarantines_;
  ClientCounters counters_;
};

// Where the reader is installed, or lies in a build tree, seen from the running program; empty
// when it is nowhere.
std::string find_reader_program();

}  // namespace jetmem::reader
