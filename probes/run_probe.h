// SPDX-License-Identifier: Apache-2.0
// Runs a jetmem-probe to its end while a command waits for it: no longer than its deadline and two
// seconds.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

#include "base/spawn.h"
#include "probes/probe_runner.h"

namespace jetmem {

struct ProbeCommand {
  std::string program;
  ProbeRequest request;
  std::chrono::milliseconds deadline{60'000};
  // Readable when it is to be given up; -1: never.
  int stop_fd = -1;
  // Told where it is, a few times a second; may be empty.
  std::function<void(const std::string& where)> progress{};
};

struct ProbeEnd : ProbeRunEnd {
  bool stopped = false;    // by stop_fd
  pid_t left_behind = -1;  // killed, and not gone: it hangs in the kernel
};

ProbeEnd run_probe(Spawner& spawner, const ProbeCommand& command);

}  // namespace jetmem
