// SPDX-License-Identifier: Apache-2.0
// What a run of jetmem-probe found, before it becomes a line of JSON (docs/probe.md describes that
// format; report.cc writes it).
//
// This program depends on nothing of jetmem's, so that it can be built alone, on the device: C++17,
// as GCC 7 has it, and no CUDA toolkit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace jetmem::probe {

enum class State {
  kOk,
  kFailed,       // a step failed: the memory could not be allocated or used
  kMismatch,     // CPU or GPU did not see the bytes that the other wrote
  kUnsupported,  // this machine, driver or build has no such memory
  kDenied,       // it exists, and this process may not use it
  kSkipped,      // not tried on purpose, to protect the device
};
const char* state_name(State state);

// One call of an API, and what it answered: the name of an error ("CUDA_ERROR_OUT_OF_MEMORY",
// "ENOMEM") or of success ("CUDA_SUCCESS", "ok").
struct Call {
  std::string call;
  std::string result;
};

// The names of steps are a closed list; metrics are labelled by them.
namespace step {
inline constexpr const char* kAllocate = "allocate";
inline constexpr const char* kMap = "map";                 // into the CPU's address space
inline constexpr const char* kFirstTouch = "first_touch";  // one byte of each page
inline constexpr const char* kCpuWrite = "cpu_write";      // the pattern, by the CPU
inline constexpr const char* kCopyToGpu = "copy_to_gpu";   // memory that the CPU cannot reach
inline constexpr const char* kToGpu = "to_gpu";            // attach, prefetch: handed to the GPU
inline constexpr const char* kGpuRmw = "gpu_read_modify_write";
inline constexpr const char* kToCpu = "to_cpu";  // attach, prefetch: handed back
inline constexpr const char* kCopyFromGpu = "copy_from_gpu";
inline constexpr const char* kCpuVerify = "cpu_verify";
inline constexpr const char* kExport = "export";    // to a DMA-BUF
inline constexpr const char* kImport = "import";    // of a DMA-BUF, image or stream
inline constexpr const char* kRelease = "release";  // what import or export took
inline constexpr const char* kUnmap = "unmap";
inline constexpr const char* kFree = "free";
}  // namespace step

struct Step {
  const char* step = "";
  double seconds = 0;
  std::uint64_t bytes = 0;  // moved; 0 where a bandwidth means nothing
  std::vector<Call> calls;
};

// All steps with a buffer of one size.
struct SizeStep {
  std::uint64_t bytes = 0;
  std::vector<Step> steps;
  // 64-bit words that were not what they should have been. Absent: it did not come to a check.
  std::optional<std::uint64_t> mismatches;
};

// Two measurements of the same moment divided, and a judgement of the quotient.
struct Ratio {
  std::string name;             // "gpu_repeated_read_pinned_to_device"
  std::optional<double> value;  // none: `expected` says why it could not be measured
  std::string expected;         // in words, from what this GPU's kind is known to do
  std::string judgement;        // "as_expected", "worse_than_expected", "unknown"
};

struct Bisection {
  std::uint64_t largest_bytes = 0;  // 0: not even the smallest
  std::uint64_t limit_bytes = 0;    // nothing larger was tried
  unsigned tries = 0;
  std::string error;  // of the smallest that failed; empty: the limit succeeded
};

// What a process's pool holds at one moment: `reserved` of the driver, and of that `used` for
// allocations. What is reserved and not used nobody else can have.
struct PoolUse {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
};
// Of the last size that was tried. Absent: not reached, or the driver cannot say (CUDA 11.2).
struct PoolUses {
  std::optional<PoolUse> allocated;
  std::optional<PoolUse> freed;    // after the allocation was freed
  std::optional<PoolUse> trimmed;  // after the pool was asked to keep nothing
  // Of what is reserved and not used the driver keeps this much when it waits for the GPU.
  std::optional<std::uint64_t> release_threshold_bytes;
};

struct Result {
  std::string kind;
  std::string target;  // a heap's name; empty for kinds that have one
  State state = State::kOk;
  std::string reason;  // for people; empty when ok
  // Of a failure: which step, with what size, and the error's name.
  std::string failed_step;
  std::uint64_t failed_bytes = 0;
  std::string error;

  std::optional<SizeStep>
      warm_up;  // the first round with the smallest size: drivers load things then
  std::vector<SizeStep> size_steps;
  std::vector<Ratio> ratios;
  std::optional<Bisection> bisection;
  std::optional<PoolUses> pool;
  // What this machine does not let be checked, and why; empty when all was. The state is of the
  // rest.
  std::string not_checked;
};

}  // namespace jetmem::probe
