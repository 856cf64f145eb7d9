// What the journal is told of probes: each kind's change of state with the evidence of the moment,
// and one line that sums up the first results.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/probe/source.h"
#include "daemon/probe_ledger.h"
#include "daemon/program_figures.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeNews {
 public:
  // A GPU that is lost takes all its kinds along, so there are more than of other programs.
  static constexpr int kEntries = 16;

  ProbeNews(Log& log, const Clock& clock) : log_(log, clock, ProbeSource::kInfo.name, kEntries) {}

  // The first run of its group since the daemon's start.
  void first(ProbeGroup group, const ProbeRun& run);
  // Tells what is news. `run`: what it is part of; null when the program did not come back.
  void result(const ProbeRun::Probe& probe, const ProbeLedger::Change& change,
              const GateInputs& memory, const ProbeRun* run);
  std::uint64_t withheld() const { return log_.withheld(); }

 private:
  ProgramLog log_;
};

// "dmabuf system"
std::string probe_name(const ProbeRun::Probe& probe);

}  // namespace jetmem
