// SPDX-License-Identifier: Apache-2.0
// The kinds that need CUDA, in a build without it.

#include "probes/program/gpu.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kReason = "built without CUDA";
bool requested = false;

void add_result(Run& run, const char* kind) { run.add_result(kind, "", gpu().state, gpu().reason); }

}  // namespace

const Gpu& gpu() {
  static const Gpu none = [] {
    Gpu found;
    found.reason = kReason;
    return found;
  }();
  requested = true;
  return none;
}

bool gpu_was_queried() { return requested; }
std::string cuda_build() { return "without CUDA"; }

void probe_pinned(Run& run) { add_result(run, "pinned"); }
void probe_managed(Run& run) { add_result(run, "managed"); }
void probe_device(Run& run) { add_result(run, "device"); }
void probe_registered(Run& run) { add_result(run, "registered"); }
void probe_dmabuf_export(Run& run) { add_result(run, "dmabuf_export"); }
void probe_dmabuf_import(Run& run) { add_result(run, "dmabuf_import"); }
void probe_nvbufsurface(Run& run) { add_result(run, "nvbufsurface"); }
void probe_eglstream(Run& run) { add_result(run, "eglstream"); }

}  // namespace jetmem::probe
