// SPDX-License-Identifier: Apache-2.0
// The one line of JSON that a run ends with. docs/probe.md describes its format, as does
// docs/probe-result.schema.json; a change that a reader of the old one would not understand needs
// another number in kSchema.
#pragma once

#include <string>

#include "probes/program/conditions.h"
#include "probes/program/run.h"

namespace jetmem::probe {

inline constexpr const char* kSchema = "jetmem-probe/1";

struct RunTimes {
  double started_boot_seconds = 0;  // CLOCK_BOOTTIME
  double started_wall_seconds = 0;  // since 1970, as far as the clock is right
  double seconds = 0;               // the whole run
  Conditions before;
  Conditions after;
};

// Without a newline.
std::string report(const Run& run, const RunTimes& times);

// Pieces of it for --progress, printed as soon as they are known: the reader has them also
// where no report comes. What is known at the start, the GPU (once it was asked), and one result.
std::string run_header_json(const Run& run, const RunTimes& times);
std::string gpu_report_json();
std::string result_json(const Result& result);

}  // namespace jetmem::probe
