// SPDX-License-Identifier: Apache-2.0
#include "probes/run_probe.h"

#include <optional>
#include <utility>

#include "base/process/poll_loop.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kExitTimeout = std::chrono::seconds(2);

}  // namespace

ProbeEnd run_probe(Spawner& spawner, const ProbeCommand& command) {
  const SystemClock clock;
  PollLoop loop;
  ProbeEnd end;
  bool has_ended = false;
  const auto on_end = [&](ProbeRunEnd ended) {
    static_cast<ProbeRunEnd&>(end) = std::move(ended);
    has_ended = true;
  };
  ProbeRunner runner(clock, spawner, on_end,
                     {.progress = command.progress, .takes_any_kind = true});
  runner.set_paths("", command.program);
  Watch stop;
  auto ok = runner.start(loop);
  if (ok && command.stop_fd >= 0) {
    ok = stop.start(loop, command.stop_fd, [&] {
      end.stopped = true;
      runner.give_up(Errc::kSkipped, "was stopped");
    });
  }
  if (ok) ok = runner.run(command.request, command.deadline);
  if (!ok) {
    end.failure.emplace().message = "jetmem-probe " + ok.error().message;
    return end;
  }
  loop.run_until([&] {
    runner.bound_stderr();
    return has_ended;
  });
  stop.stop();
  if (!loop.run_until([&] { return !runner.is_terminating(); }, kExitTimeout) && end.failure) {
    end.left_behind = runner.terminating_pid();
    end.failure->message += "; it hangs in the kernel beyond SIGKILL and is left behind, process " +
                            std::to_string(end.left_behind);
  }
  return end;
}

}  // namespace jetmem
