// SPDX-License-Identifier: Apache-2.0
// One function, in a file of its own, for each kind of memory: adds a result, or one for each
// target, to the run.
#pragma once

#include "probes/program/run.h"

namespace jetmem::probe {

void probe_host(Run& run);
void probe_dmabuf(Run& run);

// With CUDA's driver.
void probe_pinned(Run& run);
void probe_managed(Run& run);
void probe_device(Run& run);
void probe_registered(Run& run);
void probe_pool(Run& run);
void probe_dmabuf_export(Run& run);
void probe_dmabuf_import(Run& run);
void probe_nvbufsurface(Run& run);
void probe_eglstream(Run& run);

}  // namespace jetmem::probe
