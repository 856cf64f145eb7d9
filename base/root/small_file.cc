// SPDX-License-Identifier: Apache-2.0
#include "base/root/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/root/snapshot.h"
#include "base/unique_fd.h"

namespace jetmem {

Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return tl::unexpected(errno_error("open", path, errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return tl::unexpected(errno_error("look at", path, errno));
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::kNotRegular, path + " is no regular file");
  }
  return read_open_file(fd.get(), path, max_bytes);
}

Result<std::string> read_open_file(int fd, std::string_view path, std::size_t max_bytes) {
  ByteBuffer bytes;
  const int error = read_to_end(fd, max_bytes, bytes);
  if (error == FileText::kTooLarge) {
    return fail(Errc::kTooLarge, std::string(path) + " is too large");
  }
  if (error != 0) return tl::unexpected(errno_error("read", path, error));
  return std::string(bytes.view());
}

std::string_view read_once(const char* path, std::span<char> buffer) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t n = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  return {buffer.data(), static_cast<std::size_t>(n > 0 ? n : 0)};
}

namespace {

Result<void> replace(const std::string& path, std::string_view text, std::string_view more,
                     bool durably) {
  const std::string temporary = path + ".new";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                     S_IRUSR | S_IWUSR));
  if (!fd.valid()) return tl::unexpected(errno_error("open", temporary, errno));
  while (!text.empty() || !more.empty()) {
    if (text.empty()) std::swap(text, more);
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : EIO;
      ::unlink(temporary.c_str());
      return tl::unexpected(errno_error("write", temporary, error));
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (durably && ::fsync(fd.get()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return tl::unexpected(errno_error("sync", temporary, error));
  }
  fd.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return tl::unexpected(errno_error("rename to", path, errno));
  }
  if (!durably) return {};
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const UniqueFd directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) != 0) {
    return tl::unexpected(errno_error("sync", folder, errno));
  }
  return {};
}

}  // namespace

Result<void> replace_small_file(const std::string& path, std::string_view text,
                                std::string_view more) {
  return replace(path, text, more, false);
}

Result<void> replace_small_file_durably(const std::string& path, std::string_view text) {
  return replace(path, text, {}, true);
}

}  // namespace jetmem
