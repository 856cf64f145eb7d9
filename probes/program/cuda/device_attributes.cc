// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/device_attributes.h"

namespace jetmem::probe {
namespace {

struct Ability {
  const char* name;
  const char* call;
  int attribute;
};
constexpr Ability kAbilities[] = {
    {"can_map_host_memory", "CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY",
     driver::kAttributeCanMapHostMemory},
    {"managed_memory", "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY", driver::kAttributeManagedMemory},
    {"pageable_memory_access", "CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS",
     driver::kAttributePageableMemoryAccess},
    {"concurrent_managed_access", "CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS",
     driver::kAttributeConcurrentManagedAccess},
    {"can_use_host_pointer_for_registered_mem",
     "CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM",
     driver::kAttributeCanUseHostPointerForRegisteredMem},
    {"host_register", "CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED",
     driver::kAttributeHostRegisterSupported},
    {"pageable_memory_access_uses_host_page_tables",
     "CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES",
     driver::kAttributeUsesHostPageTables},
    {"host_register_read_only", "CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED",
     driver::kAttributeReadOnlyHostRegisterSupported},
    {"memory_pools", "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED",
     driver::kAttributeMemoryPoolsSupported},
    {"dma_buf", "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED", driver::kAttributeDmaBufSupported},
};

class Attributes {
 public:
  Attributes(driver::Device device, Step& step) : device_(device), step_(step) {}

  // Noted by the attribute's name alone: with the function's it would be longer than a call's name
  // may be.
  driver::Result ask(const char* call, int attribute, int& value) {
    const driver::Result answer = cuda().cuDeviceGetAttribute(&value, attribute, device_);
    note(call, answer);
    return answer;
  }
  bool read(const char* call, int attribute, int& value) {
    return ask(call, attribute, value) == driver::kSuccess;
  }
  std::string name() {
    char name[128] = {};
    const bool well =
        note("cuDeviceGetName", cuda().cuDeviceGetName(name, sizeof name - 1, device_));
    return well && name[0] != '\0' ? name : "unknown";
  }

 private:
  bool note(const char* call, driver::Result answer) {
    step_.calls.push_back({call, cuda().name_of(answer)});
    return answer == driver::kSuccess;
  }

  driver::Device device_;
  Step& step_;
};

}  // namespace

bool read_attributes(driver::Device device, Gpu& gpu, Step& step) {
  Attributes attributes(device, step);
  int integrated = 0;
  if (!attributes.read("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
                       driver::kAttributeCapabilityMajor, gpu.capability_major) ||
      !attributes.read("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
                       driver::kAttributeCapabilityMinor, gpu.capability_minor) ||
      !attributes.read("CU_DEVICE_ATTRIBUTE_INTEGRATED", driver::kAttributeIntegrated,
                       integrated)) {
    return false;
  }
  gpu.integrated = integrated != 0;
  gpu.name = attributes.name();
  for (const Ability& ability : kAbilities) {
    int value = 0;
    // What the driver has never heard of is absent, not "cannot".
    const driver::Result answer = attributes.ask(ability.call, ability.attribute, value);
    if (answer == driver::kSuccess) {
      gpu.can[ability.name] = value != 0;
    } else if (answer != driver::kInvalidValue && answer != driver::kNotSupported) {
      gpu.failed_to_say[ability.name] = cuda().name_of(answer);
    }
  }
  return true;
}

}  // namespace jetmem::probe
