// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/driver.h"

#include <dlfcn.h>

#include "probes/program/cuda/session.h"

namespace jetmem::probe {
namespace {

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

bool is_missing_library(std::string_view problem, std::initializer_list<const char*> names) {
  for (const std::string_view name : names) {
    if (problem == "no " + std::string(name)) return true;
    const std::size_t at = problem.find(": cannot open shared object file: No such file");
    if (at == problem.npos) continue;
    const std::string_view file = problem.substr(0, at);
    if (file.substr(file.rfind('/') + 1) == name) return true;
  }
  return false;
}

void* open_library(const std::string& directory, std::initializer_list<const char*> names,
                   std::string& problem) {
  problem.clear();
  const auto open = [&](const std::string& name, int loaded_only) {
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | loaded_only);
    const char* const error = library == nullptr ? ::dlerror() : nullptr;
    if (error != nullptr && (problem.empty() || (is_missing_library(problem, names) &&
                                                 !is_missing_library(error, names)))) {
      problem = error;
    }
    if (library != nullptr) problem.clear();
    return library;
  };
  for (const char* name : names) {
    if (directory.empty()) break;
    if (void* library = open(directory + "/" + name, 0)) return library;
  }
  // With a directory of stand-ins the machine's own libraries stay out of it, but for one that is
  // in the process already.
  for (const char* name : names) {
    if (void* library = open(name, directory.empty() ? 0 : RTLD_NOLOAD)) return library;
  }
  if (problem.empty()) problem = std::string("no ") + *names.begin();
  return nullptr;
}

Driver::Driver(const std::string& library_directory) : Functions{} {
  library_ = open_library(library_directory, {"libcuda.so.1"}, problem_);
  if (library_ == nullptr) return;
#define FIND(function, ...) find(library_, #function, function);
  JETMEM_CUDA_DRIVER_BASE(FIND)
  JETMEM_CUDA_DRIVER_OPTIONAL(FIND)
#undef FIND
#define NAME(function, ...) #function,
  base_problem_ = lacks({JETMEM_CUDA_DRIVER_BASE(NAME)});
#undef NAME
}

std::string Driver::lacks(std::initializer_list<const char*> functions) const {
  if (library_ == nullptr) return problem_;
  for (const char* function : functions) {
    if (::dlsym(library_, function) == nullptr) {
      return std::string("the driver has no ") + function + "()";
    }
  }
  return "";
}

std::string Driver::name_of(driver::Result result) const {
  const char* name = nullptr;
  if (cuGetErrorName != nullptr && cuGetErrorName(result, &name) == driver::kSuccess &&
      name != nullptr) {
    return name;
  }
  return "CUresult " + std::to_string(result);
}

std::string Driver::described(driver::Result result) const {
  const char* why = nullptr;
  const bool has_words = cuGetErrorString != nullptr &&
                         cuGetErrorString(result, &why) == driver::kSuccess && why != nullptr;
  return has_words ? std::string(why) + " (" + name_of(result) + ")" : name_of(result);
}

bool cuda_call(Recorder& recorder, const char* name, driver::Result result) {
  const char* why = nullptr;
  if (result != driver::kSuccess && cuda().cuGetErrorString != nullptr) {
    cuda().cuGetErrorString(result, &why);
  }
  return recorder.call(name, result == driver::kSuccess, cuda().name_of(result),
                       why == nullptr ? "" : why);
}

bool can_be_tried(Run& run, const char* kind, std::initializer_list<const char*> functions) {
  if (run.options().bisect_limit > 0) {
    run.add_result(kind, "", State::kUnsupported, "only allocations are bisected");
    return false;
  }
  if (!gpu_usable(run, kind)) return false;
  const std::string lacks = cuda().lacks(functions);
  if (lacks.empty()) return true;
  run.add_result(kind, "", State::kUnsupported, lacks);
  return false;
}

}  // namespace jetmem::probe
