// SPDX-License-Identifier: Apache-2.0
// The GPU as the probe found it; filled by cuda/session.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/program/result.h"

namespace jetmem::probe {

// Loading the kernels, for which the driver compiles PTX unless it has the result in its cache:
// apart from what memory costs.
struct Kernels {
  State state = State::kUnsupported;  // kOk, kUnsupported or kFailed
  std::string reason;
  std::string error;  // of the call that failed: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"
  std::string code;   // what was loaded, last: "cubin" (machine code) or "ptx"
  double seconds = 0;
  // Of this process: what it has more of afterwards, and at most meanwhile.
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> peak_bytes;
  // Of the GPU's memory, which is the system's where it is integrated.
  std::optional<std::uint64_t> gpu_bytes;
};

struct Gpu {
  State state = State::kUnsupported;  // kOk, kUnsupported, kDenied or kFailed
  std::string reason;
  // As CUDA counts versions: 13000 for 13.0. Absent: no driver.
  std::optional<int> driver;

  std::string name;
  int capability_major = 0;
  int capability_minor = 0;
  bool integrated = false;
  std::map<std::string, bool> can;  // "host_register", "concurrent_managed_access", ...
  // Where asking failed in another way than that the driver does not know the ability: its error.
  std::map<std::string, std::string> failed_to_say;
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> total_bytes;
  // Absent: it did not come to them.
  std::optional<Kernels> kernels;
  // Making a context and loading the kernels: apart from what memory costs.
  std::vector<Step> start;
};

// The GPU in use, queried once; makes the context if there is one to make. Not called where no kind
// of memory needs it. The first is one that shares the CPU's memory, where there is one.
const Gpu& gpu();
// The others by number, from 1 on; 0 before gpu() was called. Each has a context of its own.
unsigned more_gpus();
void use_gpu(unsigned number);
// Beyond the fourth, which are not probed.
unsigned omitted_gpus();
// Those in use so far, in the order of their numbers.
const std::deque<Gpu>& used_gpus();
// Whether gpu() was called in this run.
bool gpu_was_queried();

}  // namespace jetmem::probe
