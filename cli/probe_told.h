// What `jetmem probe` has to tell in the end: of runs now, or of those that a captured tree tells.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collectors/probe/source.h"

namespace jetmem {

struct ToldProbes {
  std::vector<std::string> lines;  // of each run, as it was printed
  std::vector<ProbeRun> runs;      // the same, understood
  struct Skipped {
    std::string group;
    std::string reason;
    std::string words;
  };
  std::vector<Skipped> skipped;
  struct Failed {
    std::string group;  // empty: not known
    std::string error;
  };
  std::vector<Failed> errors;

  // A result as a program printed it; one that is none becomes an error.
  void take(std::string line, const std::string& group);
};

// The runs before a tree was captured. Errors: it tells of none.
Result<void> read_captured_probes(const std::string& directory, ToldProbes& told);

// {"runs": [each line whole], "skipped": [...], "errors": [...]}, of several lines.
std::string probe_json(const ToldProbes& told);

// The exit status: a failure, when something failed or nothing of all could be tried.
int probe_exit_status(const ToldProbes& told);

}  // namespace jetmem
