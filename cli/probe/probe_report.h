// SPDX-License-Identifier: Apache-2.0
// The result of `jetmem probe`: of runs now, or of a captured tree.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collectors/probe/source.h"

namespace jetmem {

struct ProbeReport {
  std::vector<std::string> lines;  // of each run, as it was printed
  std::vector<ProbeRun> runs;      // the same, understood
  struct Skipped {
    std::string group;
    std::string reason;
    std::string message;
  };
  std::vector<Skipped> skipped;
  struct Failed {
    std::string group;  // empty: not known
    std::string error;
  };
  std::vector<Failed> errors;

  // A result as a program printed it; an invalid one becomes an error.
  void take(std::string line, const std::string& group);
};

// The runs before a tree was captured. Errors: it has none.
Result<void> read_captured_probes(const std::string& directory, ProbeReport& probe_report);

// {"runs": [each line whole], "skipped": [...], "errors": [...]}, of several lines.
std::string probe_json(const ProbeReport& probe_report);

// The exit status: critical for a mismatch, a warning for a failure, unknown when the program
// failed or nothing of all could be tried.
int probe_exit_status(const ProbeReport& probe_report);

}  // namespace jetmem
