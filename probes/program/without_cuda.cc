// The kinds that need CUDA, in a build without it.

#include "probes/program/gpu.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kReason = "built without CUDA";
bool asked = false;

void leave_out(Run& run, const char* kind) { run.leave_out(kind, "", gpu().state, gpu().reason); }

}  // namespace

const Gpu& gpu() {
  static const Gpu none = [] {
    Gpu found;
    found.reason = kReason;
    return found;
  }();
  asked = true;
  return none;
}

bool gpu_was_asked() { return asked; }
std::string cuda_build() { return "without CUDA"; }

void probe_pinned(Run& run) { leave_out(run, "pinned"); }
void probe_managed(Run& run) { leave_out(run, "managed"); }
void probe_device(Run& run) { leave_out(run, "device"); }
void probe_registered(Run& run) { leave_out(run, "registered"); }
void probe_dmabuf_export(Run& run) { leave_out(run, "dmabuf_export"); }
void probe_dmabuf_import(Run& run) { leave_out(run, "dmabuf_import"); }
void probe_nvbufsurface(Run& run) { leave_out(run, "nvbufsurface"); }
void probe_eglstream(Run& run) { leave_out(run, "eglstream"); }

}  // namespace jetmem::probe
