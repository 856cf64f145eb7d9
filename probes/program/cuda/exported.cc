#include "probes/program/cuda/exported.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace jetmem::probe {

std::string cannot_export(const Driver& driver) {
  int device = 0;
  int supported = 0;
  driver::Result result = driver.cuCtxGetDevice(&device);
  if (result != driver::kSuccess) return "cuCtxGetDevice: " + driver.name_of(result);
  result = driver.cuDeviceGetAttribute(&supported, driver::kAttributeDmaBufSupported, device);
  if (result != driver::kSuccess) {
    return "the driver cannot say whether this GPU's memory can be a DMA-BUF: " +
           driver.name_of(result);
  }
  return supported != 0 ? "" : "the driver says that this GPU's memory cannot be a DMA-BUF";
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

bool Exported::give_back() {
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
