// SPDX-License-Identifier: Apache-2.0
// One run of jetmem-probe at a time: asked for, watched, and its end judged.
//
// Under systemd the program is a unit of its own (jetmem-probe.socket), which may open the GPU's
// devices; the daemon connects, says in one line what it wants, and reads until the end. Where
// there is no such socket the daemon starts the program itself, with its own rights, as a stranger:
// in a process group of its own, all of which is killed with it.
//
// It may be missing, crash, hang beyond SIGKILL, fork, print without end or print nonsense. Each is
// an end with a reason, and with the step that it had begun, which is where the fault lies.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "base/spawn.h"
#include "collectors/probe/source.h"
#include "daemon/children/child_process_stats.h"
#include "probes/request.h"

namespace jetmem {

struct ProbeFailure {
  ChildProcessFailure kind = ChildProcessFailure::kExited;
  Errc code = Errc::kUnavailable;
  std::string message;  // for people; printable
  // What it had begun, as the failure of that kind of memory. Its error is "timeout", "killed",
  // "exited" or "flood".
  std::optional<ProbeRun::Probe> lost;
};

// How a run came to its end.
struct ProbeRunEnd {
  std::optional<ProbeFailure> failure;
  // The result. With a failure: what it was through with before that, as a result; empty where
  // there is none.
  std::string line;
  ProbeRun run;
  Nanoseconds elapsed{0};
};

class ProbeRunner {
 public:
  using OnEnd = std::function<void(ProbeRunEnd)>;

  // `root`: where /proc and /sys/fs/cgroup are.
  ProbeRunner(const Clock& clock, Spawner& spawner, OnEnd on_end, std::string root = {});
  ProbeRunner(const ProbeRunner&) = delete;
  ProbeRunner& operator=(const ProbeRunner&) = delete;

  Result<void> start(EventLoop& loop);
  // Either may be empty; the program then is the one beside jetmemd.
  void set_paths(std::string socket, std::string program);

  // Not to be called while one runs or is being terminated. An error: none was started; kSkipped:
  // there is no socket, and the daemon's own memory limit has no room for it.
  Result<void> run(ProbeRequest request, std::chrono::milliseconds deadline);
  // Ends it; on_end is not called.
  void kill();

  bool running() const { return child_.running(); }
  // It was killed and has not ended; wedged: for so long that it hangs in the kernel.
  bool is_terminating() { return child_.is_terminating(); }
  bool wedged() const { return child_.wedged(); }
  // True: nobody here may kill it, and it ends itself at its deadline.
  bool from_socket() const { return from_socket_; }
  pid_t terminating_pid() const { return child_.terminating_pid(); }
  pid_t pid() const { return child_.pid(); }
  // How long the current run has taken.
  Nanoseconds runs_for() const { return running() ? clock_.mono() - started_ : Nanoseconds(0); }
  // Why the daemon starts the program itself; empty when it is systemd's.
  const std::string& fallback() const { return fallback_; }
  // Whole lines that were printed.
  std::uint64_t lines() const { return lines_; }

 private:
  void on_deadline();
  enum class Connected { kYes, kNoSocket };
  Result<Connected> connect_to_socket();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_end(ChildEnd child);
  void end_badly(ChildProcessFailure kind, Errc code, std::string_view error, std::string how);
  Result<void> take_result(const ProbeOutput& output, ProbeRunEnd& end) const;
  void keep_valid_results(const ProbeOutput& output, ProbeRunEnd& end) const;
  Result<void> keep_requested_kinds(const ProbeRun& run) const;
  std::string who() const;
  std::string_view abandon_message() const { return from_socket_ ? "was given up" : "was killed"; }

  const Clock& clock_;
  OnEnd on_end_;
  ChildProcess child_;
  std::string root_;
  std::string socket_;
  std::string program_;
  Timer timer_;

  ProbeRequest request_;
  std::chrono::milliseconds deadline_{0};
  Nanoseconds started_{0};  // mono clock
  ByteBuffer text_;
  bool from_socket_ = false;
  bool has_peer_process_ = false;
  std::string fallback_;
  std::uint64_t lines_ = 0;
};

}  // namespace jetmem
