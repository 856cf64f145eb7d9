// What pinned memory costs against the others, on this machine, at this moment.
#pragma once

#include "probes/program/run.h"

namespace jetmem::probe {

// Adds its ratios to `pinned`, the result of that kind, whose ladder went well. What cannot be
// measured is left out, with no further harm; bytes that come back changed are a mismatch of that
// kind. Holds at most two frames at a time.
void measure_ratios(const Run& run, Result& pinned);

}  // namespace jetmem::probe
