// SPDX-License-Identifier: Apache-2.0
// As much of EGL as a stream takes: a display of the GPU itself, without any screen, and streams.
// Found in libEGL.so.1 by name; the declarations are our own (the Khronos registry's EGL 1.5 and
// its extensions).
#pragma once

#include <cstdint>
#include <string>

#include "probes/program/result.h"

namespace jetmem::probe {

class Egl {
 public:
  using Boolean = unsigned int;
  using Int = std::int32_t;
  using Attribute = std::intptr_t;

  // The library, and the display of the EGL device that is CUDA's `cuda_device`; where none says
  // so and the GPU is the only one that can be (`is_integrated`), of the first. state() tells
  // whether there is a display, and reason() and error() why not.
  Egl(const std::string& library_directory, int cuda_device, bool is_integrated);
  ~Egl();
  Egl(const Egl&) = delete;
  Egl& operator=(const Egl&) = delete;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }
  const std::string& error() const { return error_; }

  // A stream of one frame; null on failure.
  void* create_stream() const;
  bool destroy_stream(void* stream) const;
  // Of the last call: "EGL_BAD_ALLOC".
  std::string last_error() const;

 private:
  bool load(const std::string& library_directory);
  bool find_device(int cuda_device, bool is_integrated, void*& device);
  bool make_display(void* device);
  bool is(bool well, const char* what);  // else: unsupported, and names it
  bool failed(const char* call);

  State state_ = State::kUnsupported;
  std::string reason_;
  std::string error_;
  void* display_ = nullptr;

  void* (*eglGetProcAddress)(const char*) = nullptr;
  Int (*eglGetError)() = nullptr;
  const char* (*eglQueryString)(void* display, Int name) = nullptr;
  Boolean (*eglInitialize)(void* display, Int* major, Int* minor) = nullptr;
  Boolean (*eglTerminate)(void* display) = nullptr;
  Boolean (*eglQueryDevicesEXT)(Int max, void** devices, Int* count) = nullptr;
  const char* (*eglQueryDeviceStringEXT)(void* device, Int name) = nullptr;
  Boolean (*eglQueryDeviceAttribEXT)(void* device, Int name, Attribute* value) = nullptr;
  void* (*eglGetPlatformDisplayEXT)(unsigned int platform, void* device,
                                    const Int* attributes) = nullptr;
  void* (*eglCreateStreamKHR)(void* display, const Int* attributes) = nullptr;
  Boolean (*eglDestroyStreamKHR)(void* display, void* stream) = nullptr;
};

}  // namespace jetmem::probe
