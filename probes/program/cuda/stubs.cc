// Stand-ins until the real ones are there; weak, so that they may be.
#include "probes/program/kinds.h"

namespace jetmem::probe {

#define STUB(kind)                                                    \
  __attribute__((weak)) void probe_##kind(Run& run) {                 \
    run.leave_out(#kind, "", State::kUnsupported, "not written yet"); \
  }
STUB(dmabuf_export)
STUB(dmabuf_import)
STUB(nvbufsurface)
STUB(eglstream)

__attribute__((weak)) Result& Run::bisect(std::string kind, std::string target, const Work&) {
  return leave_out(std::move(kind), std::move(target), State::kUnsupported, "not written yet");
}

}  // namespace jetmem::probe
