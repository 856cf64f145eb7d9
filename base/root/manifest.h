// SPDX-License-Identifier: Apache-2.0
// jetmem/manifest.json in a fixture, scenario or captured bundle.
//
//   { "format": 1,
//     "facts":  { "page_size": 4096, "clock_ticks_per_second": 100, "cpus": 6,
//                 "boot_id": "...", "boot_time": 1760000000, "captured_at": 1760003600 },
//     "errors": { "/proc/pagetypeinfo": "EACCES", "/sys/kernel/debug": "EACCES" },
//     "sources": { "meminfo": { "state": "ok" },
//                  "nvmap": { "state": "failed", "error": "timeout", "reason": "..." },
//                  "pagetypeinfo": { "state": "pending", "skipped": "..." } },
//     "capture": { "reason": "alert", "alert": "...", "version": "...", "log_seconds": 1234.5,
//                  "omitted": [ { "path": "/proc/cmdline", "reason": "..." } ] } }
//
// All of it but the format is optional. "errors" says which paths could not be read at the
// capture, so that a denied file is not taken for one that never was: a directory's entry covers
// what lies below it. A path that is neither there nor listed did not exist.
//
// "sources" is what became of each at the capture. One that was not read ("skipped", or an "error"
// that no file has) is not read from the tree either: what it lacks would be taken for absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/facts.h"

namespace jetmem {

struct Manifest {
  struct RecordedError {
    std::string path;
    int error = 0;  // an errno value of this machine
  };

  struct SourceRemark {
    std::string name;
    std::string state;    // "ok", "absent", "denied", "failed", "pending"
    std::string reason;   // why it is not ok
    std::string skipped;  // why it was not read on purpose
    // Why nothing was read that could be read again (a reader that did not answer).
    std::optional<Errc> error;

    bool was_read() const { return skipped.empty() && !error; }
  };
  struct Omitted {
    std::string path;
    std::string reason;
  };
  struct Capture {
    std::string reason;   // "alert", "on request"
    std::string alert;    // the name of the one that fired
    std::string version;  // of jetmem
    std::vector<Omitted> omitted;
    // What the clock of the kernel's log said, which stops in suspend; absent: not known.
    std::optional<double> log_seconds{};
  };

  Facts facts;
  std::vector<RecordedError> errors;
  std::vector<SourceRemark> sources;
  std::optional<Capture> capture;  // absent: a tree that nobody captured

  // 0 when nothing is recorded for the path or a directory above it.
  int error_of(std::string_view path) const;
  // Null when it has no entry.
  const SourceRemark* source(std::string_view name) const;
};

// The errno by its name, which is the same on every machine; empty, or 0, when it has none here.
std::string_view errno_name(int error);
int errno_named(std::string_view name);

// The whole text of a manifest. Unknown keys are ignored (a newer capture may add some); a value
// of the wrong type or an unknown errno name is an error.
Result<Manifest> parse_manifest(std::string_view text);

// The same as text. An errno without a name becomes "EIO".
std::string manifest_text(const Manifest& manifest);

}  // namespace jetmem
