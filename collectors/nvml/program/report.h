// Asks NVML and prints what it answers, in the format of collectors/nvml/source.h.
#pragma once

namespace jetmem::nvml {

// All but the first lines; `path` names the library.
void report(const char* path);

}  // namespace jetmem::nvml
