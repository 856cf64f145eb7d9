// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/share/exported.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace jetmem::probe {

bool can_export(Run& run, const char* kind, const char* target, const Driver& driver) {
  if (std::string lacks = driver.lacks({"cuMemGetHandleForAddressRange"}); !lacks.empty()) {
    run.add_result(kind, target, State::kUnsupported, std::move(lacks));
    return false;
  }
  const auto failed = [&](const char* call, driver::Result result) {
    const std::string error = driver.name_of(result);
    run.add_result(kind, target, State::kFailed, std::string(call) + ": " + error).error = error;
    return false;
  };
  int device = 0;
  driver::Result result = driver.cuCtxGetDevice(&device);
  if (result != driver::kSuccess) return failed("cuCtxGetDevice", result);
  int supported = 0;
  result = driver.cuDeviceGetAttribute(&supported, driver::kAttributeDmaBufSupported, device);
  if (result == driver::kInvalidValue || result == driver::kNotSupported) {
    run.add_result(kind, target, State::kUnsupported,
                   "the driver cannot say whether this GPU's memory can be a DMA-BUF: " +
                       driver.name_of(result));
    return false;
  }
  if (result != driver::kSuccess) return failed("cuDeviceGetAttribute", result);
  if (supported != 0) return true;
  run.add_result(kind, target, State::kUnsupported,
                 "the driver says that this GPU's memory cannot be a DMA-BUF");
  return false;
}

Exported::~Exported() {
  if (fd_ >= 0) ::close(fd_);
}

bool Exported::take(driver::Address address, std::uint64_t bytes) {
  return recorder_.step(step::kExport, 0, [&] {
    int fd = -1;
    const driver::Result result =
        driver_.cuMemGetHandleForAddressRange(&fd, address, bytes, driver::kRangeHandleDmaBufFd, 0);
    if (!driver_.call(recorder_, "cuMemGetHandleForAddressRange", result)) {
      end_if_refused(recorder_, driver_, result);
      return false;
    }
    if (fd < 0) {
      return recorder_.call("cuMemGetHandleForAddressRange", false, "no descriptor");
    }
    fd_ = fd;
    // Of a DMA-BUF, whose inode does not tell its size, this does.
    const off_t end = ::lseek(fd_, 0, SEEK_END);
    if (!recorder_.call_errno("lseek", end < 0 ? errno : 0)) return false;
    if (static_cast<std::uint64_t>(end) == bytes) return true;
    return recorder_.call("lseek", false, std::to_string(end) + " bytes",
                          "the DMA-BUF should have " + std::to_string(bytes));
  });
}

bool Exported::release_buffer() {
  if (fd_ < 0) return true;
  const int fd = std::exchange(fd_, -1);
  return recorder_.call_errno("close", ::close(fd) != 0 ? errno : 0);
}

void end_if_refused(Recorder& recorder, const Driver& driver, driver::Result result) {
  if (result != driver::kNotSupported) return;
  recorder.end_as(State::kUnsupported, "the driver refuses it: " + driver.name_of(result) + " (" +
                                           std::to_string(result) + ")");
}

}  // namespace jetmem::probe
