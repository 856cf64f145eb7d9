// SPDX-License-Identifier: Apache-2.0
#include "plan/model/header_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"

namespace jetmem::plan {
namespace {

// "cannot be opened: No such file or directory"
Error errno_of(std::string_view what) {
  const int error = errno;
  return {errc_of_errno(error), std::string(what) + ": " + std::generic_category().message(error)};
}

}  // namespace

Result<ModelBytes> open_bytes(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return tl::unexpected(errno_of("cannot be opened"));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return tl::unexpected(errno_of("cannot be read"));
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kNotRegular, S_ISDIR(info.st_mode) ? "is a directory, expected a file"
                                                         : "is not a regular file");
  }
  ModelBytes out;
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.file.reset(::fdopen(fd.get(), "r"));
  if (out.file == nullptr) return tl::unexpected(errno_of("cannot be read"));
  fd.release();
  return out;
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const auto file = open_bytes(path);
  if (!file) return tl::unexpected(file.error());
  if (file->size > most) {
    return fail(Errc::kTooLarge, "is " + std::to_string(file->size) +
                                     " bytes long, expected at most " + std::to_string(most));
  }
  std::string text(static_cast<std::size_t>(file->size), '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file->file.get()));
  if (std::ferror(file->file.get()) != 0) return tl::unexpected(errno_of("cannot be read"));
  return text;
}

void HeaderReader::fail_at(std::uint64_t offset, const std::string& message, Errc code) {
  if (!error_) error_ = Error{code, "byte " + std::to_string(offset) + ": " + message};
}

bool HeaderReader::has(std::uint64_t length, std::string_view what) {
  if (!ok()) return false;
  const std::uint64_t left = bytes_.size - std::min(offset_, bytes_.size);
  if (length > left) {
    fail_at(offset_, "expected " + std::string(what) + " of " + std::to_string(length) +
                         " bytes, found " + std::to_string(left) + " until the end of the file");
    return false;
  }
  if (length > most_bytes_ - std::min(offset_, most_bytes_)) {
    fail_at(offset_,
            std::string(what) + " of " + std::to_string(length) +
                " bytes exceeds the header, expected at most " + std::to_string(most_bytes_) +
                " bytes in all",
            Errc::kTooLarge);
    return false;
  }
  return true;
}

bool HeaderReader::copy(std::span<char> into) {
  const std::size_t got = std::fread(into.data(), 1, into.size(), bytes_.file.get());
  offset_ += got;
  if (got == into.size()) return true;
  const bool is_over = std::feof(bytes_.file.get()) != 0;
  fail_at(offset_, is_over ? "the file became shorter" : errno_of("cannot be read").message,
          Errc::kIo);
  return false;
}

void HeaderReader::return_to(std::uint64_t offset) {
  offset_ = offset;
  if (::fseeko(bytes_.file.get(), static_cast<off_t>(offset), SEEK_SET) != 0) {
    fail_at(offset, errno_of("cannot be read").message, Errc::kIo);
  }
}

std::uint64_t HeaderReader::number(std::size_t width, std::string_view what) {
  std::array<char, 8> raw{};
  if (!has(width, what) || !copy(std::span(raw).first(width))) return 0;
  std::uint64_t out = 0;
  for (std::size_t i = width; i-- > 0;) out = out << 8 | static_cast<unsigned char>(raw[i]);
  return out;
}

std::string HeaderReader::text(std::uint64_t length, std::string_view what) {
  if (!has(length, what)) return {};
  std::string out(static_cast<std::size_t>(length), '\0');
  return copy(out) ? out : std::string();
}

void HeaderReader::skip(std::uint64_t length, std::string_view what) {
  if (has(length, what)) return_to(offset_ + length);
}

}  // namespace jetmem::plan
