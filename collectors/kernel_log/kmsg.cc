// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/kmsg.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "collectors/kernel_log/line/record.h"

namespace jetmem::kernel_log {
namespace {

// A record that does not fit into the buffer is lost (EINVAL): the kernel's own need at most 8 KiB.
constexpr std::size_t kBuffer = 64U << 10;
constexpr int kMostErrors = 100;
// Of /dev/kmsg; Documentation/admin-guide/devices.txt
constexpr unsigned kKmsgMajor = 1;
constexpr unsigned kKmsgMinor = 11;

bool is_kmsg(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(kKmsgMajor, kKmsgMinor);
}

bool is_packet_socket(int fd, const struct stat& status) {
  int type = 0;
  socklen_t size = sizeof type;
  return S_ISSOCK(status.st_mode) &&
         ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

std::string_view type_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "another device";
  if (S_ISBLK(mode)) return "a disk";
  if (S_ISDIR(mode)) return "a folder";
  return "something else";
}

}  // namespace

Result<void> KmsgInput::attach(UniqueFd fd, bool accept_packets) {
  fd_.reset();
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(errno_error("stat", "the kernel log", errno));
  }
  is_file_ = S_ISREG(status.st_mode);
  is_socket_ = accept_packets && is_packet_socket(fd.get(), status);
  if (!is_file_ && !is_socket_ && !is_kmsg(status)) {
    return fail(Errc::kNotRegular, "in place of /dev/kmsg jetmem-reader handed over " +
                                       std::string(type_name(status.st_mode)));
  }
  if (is_file_) {
    const bool same = status.st_dev == device_ && status.st_ino == inode_;
    // Records say which of them were seen. Of plain text it can only be supposed that a longer file
    // is the same one, grown.
    const bool read_on = (same || !has_records_) && status.st_size >= offset_;
    if (!read_on) offset_ = 0;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  buffer_.resize(kBuffer);
  fd_ = std::move(fd);
  return {};
}

Result<bool> KmsgInput::drain(std::size_t budget, const Emit& emit) {
  return is_file_ ? drain_file(budget, emit) : drain_device(budget, emit);
}

Result<bool> KmsgInput::drain_device(std::size_t budget, const Emit& emit) {
  for (int errors = 0; budget-- > 0;) {
    const ssize_t n = is_socket_
                          ? ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT)
                          : ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (n > 0) {
      errors = 0;
      emit({buffer_.data(), static_cast<std::size_t>(n)});
      continue;
    }
    if (n == 0) return fail(Errc::kIo, "read /dev/kmsg: end of file");
    switch (errno) {
      case EAGAIN:
        return true;
      case EPIPE:   // overwritten
      case EINVAL:  // too large
        // How many are missing shows in the next record's number; but one has to come.
        if (++errors > kMostErrors) return tl::unexpected(errno_error("read", "/dev/kmsg", errno));
        break;
      case EINTR:
        break;
      default:
        return tl::unexpected(errno_error("read", "/dev/kmsg", errno));
    }
  }
  return false;
}

Result<bool> KmsgInput::drain_file(std::size_t budget, const Emit& emit) {
  while (budget > 0) {
    const ssize_t n = ::pread(fd_.get(), buffer_.data(), buffer_.size(), offset_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(errno_error("read", "the captured kernel log", errno));
    if (n == 0) return true;
    std::string_view text(buffer_.data(), static_cast<std::size_t>(n));
    const bool at_end = text.size() < buffer_.size();
    while (!text.empty() && budget > 0) {
      std::size_t size = text.find('\n');
      // A line without an end is whole at the end of the file, and cut where it fills the buffer.
      if (size == std::string_view::npos) {
        if (!at_end && text.size() < buffer_.size()) break;
        size = text.size();
      }
      const std::string_view line = text.substr(0, size);
      has_records_ = has_records_ || is_kmsg_record(line);
      emit(line);
      const std::size_t taken = std::min(size + 1, text.size());
      text.remove_prefix(taken);
      offset_ += static_cast<off_t>(taken);
      --budget;
    }
  }
  return false;
}

void KmsgText::take(std::string_view text, bool from_file) {
  if (!from_file || is_kmsg_record(text)) {
    if (from_file) has_records_ = true;
    log_.record(text);
    return;
  }
  if (has_records_ && is_kmsg_record_key(text)) return;
  PastedLine pasted;
  if (pasted_.strip(text, pasted)) log_.line(pasted.line);
}

}  // namespace jetmem::kernel_log
