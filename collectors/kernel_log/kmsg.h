// SPDX-License-Identifier: Apache-2.0
// Reads /dev/kmsg, or a captured file in its place, into a KernelLog.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collectors/kernel_log/kernel_log.h"
#include "collectors/kernel_log/line/pasted.h"

namespace jetmem::kernel_log {

// The descriptor's side. Every call may block for as long as whoever holds the same open file
// likes: O_NONBLOCK, the file position and the device's lock are shared with it.
class KmsgInput {
 public:
  using Emit = std::function<void(std::string_view)>;

  // Takes what jetmem-reader opened: the device, which gives one record for each read; or a plain
  // file of records or of any dmesg's text. A socket of packets in the device's place, one record
  // each, only where the caller knows who stands in for it. Nothing else is read. A file given
  // again is read on from where it was left; one that was replaced by another is read from its
  // start, and records seen are passed over.
  Result<void> attach(UniqueFd fd, bool accept_packets = false);
  void detach() { fd_.reset(); }
  bool attached() const { return fd_.valid(); }
  bool is_file() const { return is_file_; }
  int fd() const { return fd_.get(); }

  // Reads at most `budget` records or lines. True when nothing more is there now. An error means
  // that the descriptor is of no use any more: it is to be detached.
  Result<bool> drain(std::size_t budget, const Emit& emit);

 private:
  Result<bool> drain_device(std::size_t budget, const Emit& emit);
  Result<bool> drain_file(std::size_t budget, const Emit& emit);

  UniqueFd fd_;
  std::vector<char> buffer_;
  bool is_file_ = false;
  bool is_socket_ = false;
  // Of the file read last.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  bool has_records_ = false;
};

// The log's side: records of a device, lines of a file.
class KmsgText {
 public:
  explicit KmsgText(KernelLog& log) : log_(log) {}
  void take(std::string_view text, bool from_file);

 private:
  KernelLog& log_;
  bool has_records_ = false;
  Pasted pasted_;
};

// Both at once, for a program that opened the log itself.
class KmsgReader {
 public:
  explicit KmsgReader(KernelLog& log) : text_(log) {}

  Result<void> attach(UniqueFd fd, bool accept_packets = false) {
    return input_.attach(std::move(fd), accept_packets);
  }
  bool is_file() const { return input_.is_file(); }
  Result<bool> drain(std::size_t budget) {
    return input_.drain(
        budget, [this](std::string_view text) { text_.take(text, input_.is_file()); });
  }

 private:
  KmsgInput input_;
  KmsgText text_;
};

}  // namespace jetmem::kernel_log
