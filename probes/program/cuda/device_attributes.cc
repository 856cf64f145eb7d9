// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/device_attributes.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace jetmem::probe {
namespace {

// By number: the headers of older toolkits lack some, and then it is the driver that knows.
struct Ability {
  const char* name;
  const char* call;
  int attribute;
};
constexpr Ability kAbilities[] = {
    {"can_map_host_memory", "cudaDevAttrCanMapHostMemory", 19},
    {"managed_memory", "cudaDevAttrManagedMemory", 83},
    {"pageable_memory_access", "cudaDevAttrPageableMemoryAccess", 88},
    {"concurrent_managed_access", "cudaDevAttrConcurrentManagedAccess", 89},
    {"can_use_host_pointer_for_registered_mem", "cudaDevAttrCanUseHostPointerForRegisteredMem", 91},
    {"host_register", "cudaDevAttrHostRegisterSupported", 99},
    {"pageable_memory_access_uses_host_page_tables",
     "cudaDevAttrPageableMemoryAccessUsesHostPageTables", 100},
    {"host_register_read_only", "cudaDevAttrHostRegisterReadOnlySupported", 113},
};
constexpr int kDmaBufSupported = 124;  // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, not the runtime's

bool note(Step& step, const char* call, cudaError_t answer) {
  step.calls.push_back({call, cudaGetErrorName(answer)});
  if (answer != cudaSuccess) (void)cudaGetLastError();
  return answer == cudaSuccess;
}

bool ask(Step& step, const char* call, cudaDeviceAttr attribute, int& value) {
  // By the attribute's name alone: both would be longer than a call's name may be.
  return note(step, call, cudaDeviceGetAttribute(&value, attribute, 0));
}

void query_driver(void* driver, Gpu& gpu, Step& step) {
  using GetAttribute = int (*)(int* value, int attribute, int device);
  const auto get = reinterpret_cast<GetAttribute>(::dlsym(driver, "cuDeviceGetAttribute"));
  int value = 0;
  const int answer = get == nullptr ? -1 : get(&value, kDmaBufSupported, 0);
  step.calls.push_back({"cuDeviceGetAttribute CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED",
                        answer == 0   ? "CUDA_SUCCESS"
                        : answer == 1 ? "CUDA_ERROR_INVALID_VALUE"
                        : answer < 0  ? "no such function"
                                      : "CUresult " + std::to_string(answer)});
  if (answer == 0) gpu.can["dma_buf"] = value != 0;
}

std::string device_name(void* driver, Step& step) {
  // Not by cudaGetDeviceProperties(), whose structure changes from version to version.
  using GetName = int (*)(char* name, int size, int device);
  const auto get = reinterpret_cast<GetName>(::dlsym(driver, "cuDeviceGetName"));
  char name[128] = {};
  const int answer = get == nullptr ? -1 : get(name, sizeof name - 1, 0);
  step.calls.push_back({"cuDeviceGetName", answer == 0  ? "CUDA_SUCCESS"
                                           : answer < 0 ? "no such function"
                                                        : "CUresult " + std::to_string(answer)});
  return answer == 0 && name[0] != '\0' ? name : "unknown";
}

}  // namespace

bool read_attributes(void* driver, Gpu& gpu, Step& step) {
  int integrated = 0;
  if (!ask(step, "cudaDevAttrComputeCapabilityMajor", cudaDevAttrComputeCapabilityMajor,
           gpu.capability_major) ||
      !ask(step, "cudaDevAttrComputeCapabilityMinor", cudaDevAttrComputeCapabilityMinor,
           gpu.capability_minor) ||
      !ask(step, "cudaDevAttrIntegrated", cudaDevAttrIntegrated, integrated)) {
    return false;
  }
  gpu.integrated = integrated != 0;
  gpu.name = device_name(driver, step);
  for (const Ability& ability : kAbilities) {
    int value = 0;
    // What the driver has never heard of is absent, not "cannot".
    if (ask(step, ability.call, static_cast<cudaDeviceAttr>(ability.attribute), value)) {
      gpu.can[ability.name] = value != 0;
    }
  }
  query_driver(driver, gpu, step);
  return true;
}

}  // namespace jetmem::probe
