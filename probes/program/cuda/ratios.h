// SPDX-License-Identifier: Apache-2.0
// What pinned memory costs against the others, on this machine, at this moment.
#pragma once

#include "probes/program/run.h"

namespace jetmem::probe {

// Adds its ratios to `pinned`, the result of that kind, whose ladder went well. What cannot be
// measured has no value, and says why. Bytes that come back changed are a mismatch of that kind,
// and an error that stays with the GPU is its failure. Holds at most two frames at a time.
void measure_ratios(const Run& run, Result& pinned);

}  // namespace jetmem::probe
