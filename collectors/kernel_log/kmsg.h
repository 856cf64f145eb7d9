// SPDX-License-Identifier: Apache-2.0
// Reads /dev/kmsg, or a captured file in its place, into a KernelLog.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collectors/kernel_log/kernel_log.h"
#include "collectors/kernel_log/line/pasted.h"

namespace jetmem::kernel_log {

class KmsgReader {
 public:
  explicit KmsgReader(KernelLog& log);

  // Takes what jetmem-reader opened: the device, which gives one record for each read, or a plain
  // file of records or of any dmesg's text. A file given again is read on from where it was left;
  // one that was replaced by another is read from its start, and records seen are passed over.
  Result<void> attach(UniqueFd fd);
  void detach() { fd_.reset(); }
  bool attached() const { return fd_.valid(); }
  bool is_file() const { return is_file_; }
  int fd() const { return fd_.get(); }

  // Reads at most `budget` records or lines. True when nothing more is there now. An error means
  // that the descriptor is of no use any more: it is to be detached.
  Result<bool> drain(std::size_t budget);

 private:
  Result<bool> drain_device(std::size_t budget);
  Result<bool> drain_file(std::size_t budget);
  void take_file_line(std::string_view line);

  KernelLog& log_;
  UniqueFd fd_;
  std::vector<char> buffer_;
  bool is_file_ = false;
  // Of the file read last.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  bool has_records_ = false;
  Pasted pasted_;
};

}  // namespace jetmem::kernel_log
