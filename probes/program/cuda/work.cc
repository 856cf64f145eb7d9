// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/work.h"

#include "probes/program/cuda/calls.h"

namespace jetmem::probe {

void* gpu_stream() { return stream(); }

}  // namespace jetmem::probe
