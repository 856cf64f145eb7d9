// SPDX-License-Identifier: Apache-2.0
// What every part of the daemon uses: the machine it looks at, the clocks, the log, the event loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/root/facts.h"
#include "base/root/root.h"
#include "base/spawn.h"
#include "config/load.h"
#include "config/settings.h"
#include "daemon/event/sd_event_loop.h"
#include "daemon/log/async_logger.h"

namespace jetmem {

struct DaemonOptions {
  std::string root_directory;         // empty: the live machine
  std::vector<std::string> config{};  // settings files named; empty: the usual ones
  // Reads the settings anew, on SIGHUP.
  std::function<Loaded<LoadedSettings>()> load;
  // -v on the command line: more than the settings ask for.
  int verbosity = 0;
  // Seconds of a replayed machine in one of the clock. Only of another root than the live one.
  double speed = 1;
};

struct DaemonContext {
  DaemonContext(DaemonOptions daemon_options, Root daemon_root, AsyncLogger& async_logger);
  DaemonContext(const DaemonContext&) = delete;
  DaemonContext& operator=(const DaemonContext&) = delete;

  bool is_live() const { return root.is_live(); }
  // What takes so long in the real world, on the daemon's clock.
  Nanoseconds at_speed(Nanoseconds real) const;

  DaemonOptions options;
  Root root;
  // Of this machine, whatever the root: for what jetmem itself uses.
  Facts own_facts;
  // Which systemd created; empty without systemd.
  std::string state_directory;
  std::string runtime_directory;
  AsyncLogger& log;
  SystemClock system_clock;
  FastClock clock;
  SystemSpawner spawner;
  SdEventLoop loop;
};

}  // namespace jetmem
