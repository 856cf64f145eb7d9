// The one line of JSON that a run ends with. Its format is told in docs/probe.md and
// docs/probe-result.schema.json; a change that a reader of the old one would not understand needs
// another number in kSchema.
#pragma once

#include <string>

#include "probes/program/conditions.h"
#include "probes/program/run.h"

namespace jetmem::probe {

inline constexpr const char* kSchema = "jetmem-probe/1";

struct Moments {
  double started_boot_seconds = 0;  // CLOCK_BOOTTIME
  double started_wall_seconds = 0;  // since 1970, as far as the clock is right
  double seconds = 0;               // the whole run
  Conditions before;
  Conditions after;
};

// Without a newline.
std::string report(const Run& run, const Moments& moments);

// Pieces of it for --progress, told as soon as they are known: whoever waits then has them also
// where no report comes. What is known at the start, the GPU (once it was asked), and one result.
std::string begun_piece(const Run& run, const Moments& moments);
std::string gpu_piece();
std::string result_piece(const Result& result);

}  // namespace jetmem::probe
