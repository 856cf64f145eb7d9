// dmabuf: buffers of the DMA heaps and of udmabuf.
#include "probes/program/kinds.h"

namespace jetmem::probe {

void probe_dmabuf(Run& run) { run.leave_out("dmabuf", "", State::kUnsupported, "not written yet"); }

}  // namespace jetmem::probe
