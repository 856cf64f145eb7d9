// SPDX-License-Identifier: Apache-2.0
// One run of jetmem-probe at a time: asked for, watched, and its end judged.
//
// Under systemd the program is a unit of its own (jetmem-probe.socket), which may open the GPU's
// devices; the daemon connects, says in one line what it wants, and reads until the end. Where
// there is no such socket, and in a command, the program is started here, with this process's
// rights, as a stranger: in a process group of its own, all of which is killed with it.
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

struct ProbeRunnerOptions {
  // Asked before the program is started here: whether there is room for it. May be empty.
  std::function<Result<void>(const ProbeRequest&)> check_room{};
  // Told where it is, a few times a second; may be empty.
  std::function<void(const std::string& where)> progress{};
  // A result may be of other kinds than those that were requested.
  bool takes_any_kind = false;
};

class ProbeRunner {
 public:
  using OnEnd = std::function<void(ProbeRunEnd)>;

  ProbeRunner(const Clock& clock, Spawner& spawner, OnEnd on_end, ProbeRunnerOptions options);
  ProbeRunner(const ProbeRunner&) = delete;
  ProbeRunner& operator=(const ProbeRunner&) = delete;

  Result<void> start(EventLoop& loop);
  // Either may be empty; the program then is the one beside jetmemd.
  void set_paths(std::string socket, std::string program);

  // Not to be called while one runs or is being terminated. An error: none was started; kSkipped:
  // there is no socket, and no room for it.
  Result<void> run(ProbeRequest request, std::chrono::milliseconds deadline);
  // Ends it; on_end is not called.
  void kill();
  // Ends it as a failure with these words; what it printed until then counts.
  void give_up(Errc code, std::string how);
  // Ends one that prints without end on stderr.
  void bound_stderr();

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
  void print_progress();
  void end_flood();
  enum class Connected { kYes, kNoSocket };
  Result<Connected> connect_to_socket();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_end(ChildEnd child);
  void end_badly(ChildProcessFailure kind, Errc code, std::string_view error, std::string how);
  Result<void> take_result(const ProbeOutput& output, ProbeRunEnd& end) const;
  void keep_valid_results(const ProbeOutput& output, ProbeRunEnd& end) const;
  Result<void> check_kinds(const ProbeRun& run) const;

  const Clock& clock_;
  OnEnd on_end_;
  ProbeRunnerOptions options_;
  ChildProcess child_;
  std::string socket_;
  std::string program_;
  Timer timer_;
  Timer progress_;

  ProbeRequest request_;
  std::chrono::milliseconds deadline_{0};
  Nanoseconds started_{0};  // mono clock
  ByteBuffer text_;
  bool from_socket_ = false;
  bool has_peer_process_ = false;
  bool is_progress_due_ = false;
  Nanoseconds next_progress_{0};  // mono clock
  std::string fallback_;
  std::uint64_t lines_ = 0;
};

}  // namespace jetmem
