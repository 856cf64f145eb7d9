// SPDX-License-Identifier: Apache-2.0
// Sources that a program reports (Access::kProgram), on a live machine: who starts it, watches it
// and takes what it prints. Under another root their text is a file and nothing is started.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "base/spawn.h"
#include "collectors/source.h"
#include "config/settings.h"
#include "daemon/probe_window.h"
#include "metrics/sample.h"
#include "probes/gates.h"
#include "report/device/device_now.h"
#include "rules/model/texts.h"

namespace jetmem {

class Program {
 public:
  // What was printed, as the file that the source's first path names; or why there is none:
  // Errc::kSkipped when it was not asked for it, to spare the device. Else as reader::Client::Done,
  // and taken alike.
  using Done = std::function<void(std::string_view source, Result<const Snapshot*> snapshot,
                                  Nanoseconds elapsed)>;

  virtual ~Program() = default;
  // The source that it reports.
  virtual std::string_view source() const = 0;
  // To be called once, before due().
  virtual Result<void> start(EventLoop& loop) = 0;
  virtual void apply(const Settings& settings) = 0;
  // The source is due: starts the program if needed and passes on, now or later, what it printed.
  virtual void due() = 0;
  // The source was switched off: the program is ended. due() starts it again.
  virtual void stop() = 0;
  // The process running now, or -1; and what it is called in jetmem's own figures.
  virtual pid_t pid() const = 0;
  virtual std::string_view name() const = 0;
  // Why a series with these labels is missing, which the program should report: not since the
  // start, or too old: "source probe has no result of cuda"; empty: it has. Static text.
  virtual std::string_view missing(const Labels&) const { return {}; }
  // What the program does to the machine, as series of jetmem's own.
  virtual void write(SampleWriter& out) const = 0;
  // Its log entries that were kept back because there were too many.
  virtual std::uint64_t suppressed() const { return 0; }
};

// Everything a Program needs of the daemon.
struct ProgramContext {
  const Clock& clock;
  Spawner& spawner;
  Log& log;
  Program::Done done;
  const Readings* readings = nullptr;  // the sampler's; null: nothing is known
  ProbeWindow probe_window{};
  SourceStates source_states{};  // likewise
  // Memory, and kept over a restart; empty: nothing is kept.
  std::string runtime_directory{};
  // The samples of this moment, and no more of it; some milliseconds of the CPU. Null: not known.
  std::function<DeviceNow()> look{};
};

}  // namespace jetmem
