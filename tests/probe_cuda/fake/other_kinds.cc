// SPDX-License-Identifier: Apache-2.0
// The kinds that need more of CUDA than is made up here.
#include "probes/program/kinds.h"

namespace jetmem::probe {

void probe_dmabuf_export(Run&) {}
void probe_dmabuf_import(Run&) {}
void probe_nvbufsurface(Run&) {}
void probe_eglstream(Run&) {}

}  // namespace jetmem::probe
