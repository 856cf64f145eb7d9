// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/frames/egl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "probes/program/cuda/driver.h"

namespace jetmem::probe {
namespace {

constexpr Egl::Int kExtensions = 0x3055;
constexpr Egl::Int kNone = 0x3038;
constexpr Egl::Int kCudaDevice = 0x323A;          // EGL_NV_device_cuda
constexpr unsigned int kPlatformDevice = 0x313F;  // EGL_EXT_platform_device
constexpr Egl::Int kFifoLength = 0x31FC;          // EGL_KHR_stream_fifo
constexpr Egl::Int kMaxDevices = 64;

bool has_word(const char* words, const char* word) {
  const std::size_t length = std::strlen(word);
  while (words != nullptr && *words != '\0') {
    const std::size_t n = std::strcspn(words, " ");
    if (n == length && std::strncmp(words, word, n) == 0) return true;
    words += n;
    words += std::strspn(words, " ");
  }
  return false;
}

std::string name_of(Egl::Int error) {
  static constexpr const char* kNames[] = {
      "EGL_SUCCESS",       "EGL_NOT_INITIALIZED",     "EGL_BAD_ACCESS",
      "EGL_BAD_ALLOC",     "EGL_BAD_ATTRIBUTE",       "EGL_BAD_CONFIG",
      "EGL_BAD_CONTEXT",   "EGL_BAD_CURRENT_SURFACE", "EGL_BAD_DISPLAY",
      "EGL_BAD_MATCH",     "EGL_BAD_NATIVE_PIXMAP",   "EGL_BAD_NATIVE_WINDOW",
      "EGL_BAD_PARAMETER", "EGL_BAD_SURFACE",         "EGL_CONTEXT_LOST"};
  constexpr Egl::Int kFirst = 0x3000;
  if (error >= kFirst && error - kFirst < static_cast<Egl::Int>(std::size(kNames))) {
    return kNames[error - kFirst];
  }
  if (error == 0x321B) return "EGL_BAD_STREAM_KHR";
  if (error == 0x321C) return "EGL_BAD_STATE_KHR";
  if (error == 0x322B) return "EGL_BAD_DEVICE_EXT";
  char text[32];
  std::snprintf(text, sizeof text, "EGL error 0x%04X", static_cast<unsigned>(error));
  return text;
}

}  // namespace

Egl::Egl(const std::string& library_directory, int cuda_device, bool is_integrated) {
  void* device = nullptr;
  if (load(library_directory) && find_device(cuda_device, is_integrated, device) &&
      make_display(device)) {
    state_ = State::kOk;
  }
}

Egl::~Egl() {
  if (display_ != nullptr) eglTerminate(display_);
}

bool Egl::is(bool well, const char* what) {
  if (!well) reason_ = std::string("EGL here has no ") + what;
  return well;
}

bool Egl::failed(const char* call) {
  state_ = State::kFailed;
  error_ = last_error();
  reason_ = std::string(call) + ": " + error_;
  return false;
}

std::string Egl::last_error() const { return name_of(eglGetError()); }

bool Egl::load(const std::string& library_directory) {
  void* library = open_library(library_directory, {"libEGL.so.1"}, reason_);
  if (library == nullptr) {
    if (!is_missing_library(reason_, {"libEGL.so.1"})) state_ = State::kFailed;
    return false;
  }
#define FIND(function) function = reinterpret_cast<decltype(function)>(::dlsym(library, #function))
  FIND(eglGetProcAddress);
  FIND(eglGetError);
  FIND(eglQueryString);
  FIND(eglInitialize);
  FIND(eglTerminate);
#undef FIND
  if (!is(eglGetProcAddress != nullptr && eglGetError != nullptr && eglQueryString != nullptr &&
              eglInitialize != nullptr && eglTerminate != nullptr,
          "functions of EGL 1.0")) {
    return false;
  }
  const char* const extensions = eglQueryString(nullptr, kExtensions);
  const bool has_devices = has_word(extensions, "EGL_EXT_device_base") ||
                           (has_word(extensions, "EGL_EXT_device_enumeration") &&
                            has_word(extensions, "EGL_EXT_device_query"));
  if (!is(has_devices, "EGL_EXT_device_base") ||
      !is(has_word(extensions, "EGL_EXT_platform_device"), "EGL_EXT_platform_device")) {
    return false;
  }
  // Some libraries answer with an address for any name: what counts are the extensions.
#define FIND(function) function = reinterpret_cast<decltype(function)>(eglGetProcAddress(#function))
  FIND(eglQueryDevicesEXT);
  FIND(eglQueryDeviceStringEXT);
  FIND(eglQueryDeviceAttribEXT);
  FIND(eglGetPlatformDisplayEXT);
  FIND(eglCreateStreamKHR);
  FIND(eglDestroyStreamKHR);
#undef FIND
  return is(eglQueryDevicesEXT != nullptr && eglQueryDeviceStringEXT != nullptr &&
                eglQueryDeviceAttribEXT != nullptr && eglGetPlatformDisplayEXT != nullptr,
            "functions of EGL_EXT_device_base") &&
         is(eglCreateStreamKHR != nullptr && eglDestroyStreamKHR != nullptr,
            "EGL_KHR_stream: NVIDIA's is not installed, or not for this user");
}

bool Egl::find_device(int cuda_device, bool is_integrated, void*& device) {
  void* devices[kMaxDevices] = {};
  Int count = 0;
  if (eglQueryDevicesEXT(kMaxDevices, devices, &count) == 0) return failed("eglQueryDevicesEXT");
  for (Int i = 0; i < count && i < kMaxDevices; ++i) {
    Attribute value = -1;
    if (has_word(eglQueryDeviceStringEXT(devices[i], kExtensions), "EGL_NV_device_cuda") &&
        eglQueryDeviceAttribEXT(devices[i], kCudaDevice, &value) != 0 && value == cuda_device) {
      device = devices[i];
      return true;
    }
  }
  if (is_integrated && count == 1) device = devices[0];
  return is(device != nullptr, count == 0
                                   ? "device: NVIDIA's is not installed, or not for this user"
                                   : "device that is this GPU");
}

bool Egl::make_display(void* device) {
  void* const display = eglGetPlatformDisplayEXT(kPlatformDevice, device, nullptr);
  if (display == nullptr) return failed("eglGetPlatformDisplayEXT");
  if (eglInitialize(display, nullptr, nullptr) == 0) return failed("eglInitialize");
  display_ = display;
  const char* const extensions = eglQueryString(display_, kExtensions);
  return is(has_word(extensions, "EGL_KHR_stream"), "EGL_KHR_stream") &&
         is(has_word(extensions, "EGL_KHR_stream_fifo"), "EGL_KHR_stream_fifo");
}

void* Egl::create_stream() const {
  const Int attributes[] = {kFifoLength, 1, kNone};
  return eglCreateStreamKHR(display_, attributes);
}

bool Egl::destroy_stream(void* stream) const { return eglDestroyStreamKHR(display_, stream) != 0; }

}  // namespace jetmem::probe
