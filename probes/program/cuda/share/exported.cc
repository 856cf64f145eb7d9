// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/share/exported.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {

bool can_export(Run& run, const char* kind, const char* target) {
  std::string reason = cuda().lacks({"cuMemGetHandleForAddressRange"});
  if (reason.empty()) {
    if (gpu_can("dma_buf")) return true;
    // The driver failed to answer, which says nothing of what this GPU can do.
    if (const auto at = gpu().failed_to_say.find("dma_buf"); at != gpu().failed_to_say.end()) {
      run.add_result(kind, target, State::kFailed, "cuDeviceGetAttribute: " + at->second).error =
          at->second;
      return false;
    }
    reason = gpu().can.count("dma_buf") != 0
                 ? "the driver says that this GPU's memory cannot be a DMA-BUF"
                 : "the driver does not say whether this GPU's memory can be a DMA-BUF";
  }
  run.add_result(kind, target, State::kUnsupported, std::move(reason));
  return false;
}

bool Exported::take(driver::Address address, std::uint64_t bytes) {
  return recorder_.step(step::kExport, 0, [&] {
    int fd = -1;
    if (!refusable_call(recorder_, "cuMemGetHandleForAddressRange",
                        cuda().cuMemGetHandleForAddressRange(&fd, address, bytes,
                                                             driver::kRangeHandleDmaBufFd, 0))) {
      return false;
    }
    if (fd < 0) {
      return recorder_.call("cuMemGetHandleForAddressRange", false, "no descriptor");
    }
    fd_ = Fd(fd);
    // Of a DMA-BUF, whose inode does not tell its size, this does.
    const off_t end = ::lseek(fd, 0, SEEK_END);
    if (!recorder_.call_errno("lseek", end < 0 ? errno : 0)) return false;
    if (static_cast<std::uint64_t>(end) == bytes) return true;
    return recorder_.call("lseek", false, std::to_string(end) + " bytes",
                          "the DMA-BUF should have " + std::to_string(bytes));
  });
}

bool Exported::release_buffer() { return !fd_ || recorder_.call_errno("close", fd_.close()); }

void end_if_refused(Recorder& recorder, driver::Result result) {
  if (result != driver::kNotSupported) return;
  recorder.end_as(State::kUnsupported, "the driver refuses it: " + cuda().name_of(result) + " (" +
                                           std::to_string(result) + ")");
}

bool refusable_call(Recorder& recorder, const char* name, driver::Result result) {
  const bool well = cuda_call(recorder, name, result);
  end_if_refused(recorder, result);
  return well;
}

}  // namespace jetmem::probe
