// SPDX-License-Identifier: Apache-2.0
#include "base/root/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/root/atomic_file.h"
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
  AtomicFileOptions options;
  options.part = path + ".new";
  options.replaces_any = true;
  auto file = AtomicFile::create(path, std::move(options));
  if (!file) return tl::unexpected(std::move(file.error()));
  if (auto ok = (*file)->write(text); !ok) return ok;
  if (auto ok = (*file)->write(more); !ok) return ok;
  return (*file)->commit(durably);
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
