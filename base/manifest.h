// jetmem/manifest.json in a fixture, scenario or captured bundle.
//
//   { "format": 1,
//     "facts":  { "page_size": 4096, "clock_ticks_per_second": 100, "cpus": 6,
//                 "boot_id": "...", "boot_time": 1760000000, "captured_at": 1760003600 },
//     "errors": { "/proc/pagetypeinfo": "EACCES", "/sys/kernel/debug": "EACCES" } }
//
// All of facts and errors is optional. "errors" says which paths could not be read at the
// capture, so that a denied file is not taken for one that never was: a directory's entry covers
// what lies below it. A path that is neither there nor listed did not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/facts.h"
#include "base/result.h"

namespace jetmem {

struct Manifest {
  struct RecordedError {
    std::string path;
    int error = 0;  // an errno value of this machine
  };

  Facts facts;
  std::vector<RecordedError> errors;

  // 0 when nothing is recorded for the path or a directory above it.
  int error_of(std::string_view path) const;
};

// The whole text of a manifest. Unknown keys are ignored (a newer capture may add some); a value
// of the wrong type or an unknown errno name is an error.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace jetmem
