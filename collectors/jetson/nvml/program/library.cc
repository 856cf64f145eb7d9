// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvml/program/library.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <utility>

namespace jetmem::nvml {
namespace {

template <class F>
void find(void* handle, F& function, const char* name) {
  if (function != nullptr) return;
  void* const symbol = ::dlsym(handle, name);
  static_assert(sizeof symbol == sizeof function);
  std::memcpy(&function, &symbol, sizeof function);
}

}  // namespace

bool load(const char* path, Library& library, bool& missing, std::string& why) {
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    why = text == nullptr ? path : text;
    // The only thing that dlerror() has is text, of the C locale here.
    missing = why.find("No such file or directory") != std::string::npos && why.rfind(path, 0) == 0;
    return false;
  }
  find(handle, library.init, "nvmlInit_v2");
  find(handle, library.init, "nvmlInit");
  find(handle, library.shutdown, "nvmlShutdown");
  find(handle, library.error_string, "nvmlErrorString");
  find(handle, library.driver_version, "nvmlSystemGetDriverVersion");
  find(handle, library.count, "nvmlDeviceGetCount_v2");
  find(handle, library.count, "nvmlDeviceGetCount");
  find(handle, library.handle, "nvmlDeviceGetHandleByIndex_v2");
  find(handle, library.handle, "nvmlDeviceGetHandleByIndex");
  find(handle, library.name, "nvmlDeviceGetName");
  find(handle, library.memory, "nvmlDeviceGetMemoryInfo");
  find(handle, library.bar1, "nvmlDeviceGetBAR1MemoryInfo");
  find(handle, library.utilization, "nvmlDeviceGetUtilizationRates");
  for (Library::Lists& list : library.lists) {
    for (int version = 3; version >= 1 && list.newest == nullptr; --version) {
      std::string symbol = list.symbol;
      if (version > 1) symbol += "_v" + std::to_string(version);
      find(handle, list.newest, symbol.c_str());
      list.version = version;
    }
  }
  if (library.init == nullptr || library.count == nullptr || library.handle == nullptr) {
    why = std::string(path) + " lacks nvmlInit, nvmlDeviceGetCount or nvmlDeviceGetHandleByIndex";
    return false;
  }
  return true;
}

std::string code_name(Return code) {
  static constexpr std::array<const char*, 29> kNames{"SUCCESS",
                                                      "UNINITIALIZED",
                                                      "INVALID_ARGUMENT",
                                                      "NOT_SUPPORTED",
                                                      "NO_PERMISSION",
                                                      "ALREADY_INITIALIZED",
                                                      "NOT_FOUND",
                                                      "INSUFFICIENT_SIZE",
                                                      "INSUFFICIENT_POWER",
                                                      "DRIVER_NOT_LOADED",
                                                      "TIMEOUT",
                                                      "IRQ_ISSUE",
                                                      "LIBRARY_NOT_FOUND",
                                                      "FUNCTION_NOT_FOUND",
                                                      "CORRUPTED_INFOROM",
                                                      "GPU_IS_LOST",
                                                      "RESET_REQUIRED",
                                                      "OPERATING_SYSTEM",
                                                      "LIB_RM_VERSION_MISMATCH",
                                                      "IN_USE",
                                                      "MEMORY",
                                                      "NO_DATA",
                                                      "VGPU_ECC_NOT_SUPPORTED",
                                                      "INSUFFICIENT_RESOURCES",
                                                      "FREQ_NOT_SUPPORTED",
                                                      "ARGUMENT_VERSION_MISMATCH",
                                                      "DEPRECATED",
                                                      "NOT_READY",
                                                      "GPU_NOT_FOUND"};
  if (code >= 0 && static_cast<std::size_t>(code) < kNames.size()) {
    return kNames[static_cast<std::size_t>(code)];
  }
  return code == 999 ? "UNKNOWN" : "CODE_" + std::to_string(code);
}

}  // namespace jetmem::nvml
