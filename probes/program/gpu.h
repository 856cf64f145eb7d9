// SPDX-License-Identifier: Apache-2.0
// The GPU as the probe found it; filled by cuda/session.cc, or by cuda_stub.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/program/result.h"

namespace jetmem::probe {

struct Gpu {
  State state = State::kUnsupported;  // kOk, kUnsupported, kDenied or kFailed
  std::string reason;
  // As CUDA counts versions: 13000 for 13.0. Absent: built without, no driver.
  std::optional<int> built_with;
  std::optional<int> driver;

  std::string name;
  int capability_major = 0;
  int capability_minor = 0;
  bool integrated = false;
  std::map<std::string, bool> can;  // "host_register", "concurrent_managed_access", ...
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> total_bytes;
  // Making a context and loading the kernels: apart from what memory costs.
  std::vector<Step> start;
};

// The GPU, queried once; makes the context if there is one to make. Not called where no kind of
// memory needs it.
const Gpu& gpu();
// Whether gpu() was called in this run.
bool gpu_was_queried();
// What the build has: "CUDA 13.0, sm_75 sm_80", or "without CUDA".
std::string cuda_build();

}  // namespace jetmem::probe
