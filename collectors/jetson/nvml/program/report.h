// SPDX-License-Identifier: Apache-2.0
// Asks NVML and prints what it answers, in the format of collectors/jetson/nvml/source.h.
#pragma once

namespace jetmem::nvml {

// All but the first lines; `path` names the library.
void report(const char* path);

}  // namespace jetmem::nvml
