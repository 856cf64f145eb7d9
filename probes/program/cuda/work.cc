#include "probes/program/cuda/work.h"

#include "probes/program/cuda/calls.h"

namespace jetmem::probe {

void* gpu_stream() { return stream(); }

}  // namespace jetmem::probe
