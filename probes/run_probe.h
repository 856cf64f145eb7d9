// SPDX-License-Identifier: Apache-2.0
// Runs a jetmem-probe to its end while a command waits for it. The daemon never waits and has
// ProbeRunner.
//
// The program may be missing, crash, print without end, leave children behind, or hang in a driver
// beyond any signal. None of that takes longer than its deadline and two seconds, or more memory
// than kMaxProbeOutput.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "probes/request.h"

namespace jetmem {

struct ProbeCommand {
  std::string program;
  std::vector<std::string> arguments;  // probe_arguments()
  std::chrono::milliseconds deadline{60'000};
  // Readable when it is to be given up; -1: never.
  int stop_fd = -1;
  // Told where it is, a few times a second; may be empty.
  std::function<void(const std::string& where)> progress{};
};

struct ProbeEnd {
  // What it came to say. Its result is a whole line also where there is an error: what was measured
  // before the program hung on its way out was measured.
  ProbeOutput output;
  // Where there is an error and no result: what it had found until then, as a result
  // (probes/partial.h). Empty: nothing.
  std::string partial;
  // How it ended, unless well. For people: "crashed with SIGSEGV, ..."..
  std::optional<Error> error;
  bool stopped = false;    // by stop_fd
  pid_t left_behind = -1;  // killed, and not gone: it hangs in the kernel
};

ProbeEnd run_probe(Spawner& spawner, const ProbeCommand& command);

}  // namespace jetmem
