// SPDX-License-Identifier: Apache-2.0
// The few functions of NVML that jetmem-nvml asks, by the ABI that NVIDIA documents in nvml.h. The
// library belongs to the driver and is loaded when it is there: nothing of it is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace jetmem::nvml {

using Device = void*;
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kFunctionNotFound = 13;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

// An entry in a list of processes. Version 1 ends before the instances; and some drivers (535.54,
// 550.127) write another number behind them, although the function is called the same. So the
// distance from one entry to the next is not believed but measured (report.cc).
struct ProcessV1 {
  unsigned int pid;
  unsigned long long bytes;
};
struct ProcessV2 {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
struct ProcessLong {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
  unsigned long long protected_bytes;
};
static_assert(sizeof(ProcessV1) == 16 && sizeof(ProcessV2) == 24 && sizeof(ProcessLong) == 32);
static_assert(offsetof(ProcessV1, bytes) == 8 && offsetof(ProcessLong, bytes) == 8);

// A pointer is null where this version of the library has no such function.
struct Library {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned int) = nullptr;
  Return (*count)(unsigned int*) = nullptr;
  Return (*handle)(unsigned int, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned int) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*bar1)(Device, Memory*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;

  using List = Return (*)(Device, unsigned int*, void*);
  struct Lists {
    const char* kind;
    const char* symbol;
    List newest = nullptr;
    int version = 0;  // of `newest`: 1, 2 or 3
  };
  Lists lists[3] = {{"compute", "nvmlDeviceGetComputeRunningProcesses"},
                    {"graphics", "nvmlDeviceGetGraphicsRunningProcesses"},
                    {"mps", "nvmlDeviceGetMPSComputeRunningProcesses"}};
};

// Loads it. False, and why, when it cannot be loaded: `missing` when there is none.
bool load(const char* path, Library& library, bool& missing, std::string& why);

// NVML's name for an answer, without its prefix: "NOT_SUPPORTED".
std::string code_name(Return code);

}  // namespace jetmem::nvml
