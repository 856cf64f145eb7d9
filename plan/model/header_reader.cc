// SPDX-License-Identifier: Apache-2.0
#include "plan/model/header_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace jetmem::plan {
namespace {

constexpr std::size_t kWindow = 64U << 10;

// "cannot be opened: No such file or directory"
tl::unexpected<Error> fail_errno(std::string_view what, int error) {
  return fail(errc_of_errno(error),
              std::string(what) + ": " + std::generic_category().message(error));
}

}  // namespace

ByteSource bytes_of(std::string_view text) {
  return {text.size(), [text](std::uint64_t offset, std::span<char> into) -> Result<std::size_t> {
            if (offset >= text.size()) return 0;
            const std::size_t length =
                std::min<std::size_t>(into.size(), text.size() - static_cast<std::size_t>(offset));
            std::memcpy(into.data(), text.data() + offset, length);
            return length;
          }};
}

Result<ModelBytes> open_bytes(const std::string& path) {
  ModelBytes out;
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  out.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!out.fd.valid()) return fail_errno("cannot be opened", errno);
  struct stat info {};
  if (::fstat(out.fd.get(), &info) != 0) return fail_errno("cannot be read", errno);
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kNotRegular, S_ISDIR(info.st_mode) ? "is a directory, expected a file"
                                                         : "is not a regular file");
  }
  out.bytes.size = static_cast<std::uint64_t>(info.st_size);
  out.bytes.read = [fd = out.fd.get()](std::uint64_t offset,
                                       std::span<char> into) -> Result<std::size_t> {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno("cannot be read", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  };
  return out;
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const auto file = open_bytes(path);
  if (!file) return tl::unexpected(file.error());
  if (file->bytes.size > most) {
    return fail(Errc::kTooLarge, "is " + std::to_string(file->bytes.size) +
                                     " bytes long, expected at most " + std::to_string(most));
  }
  std::string text(static_cast<std::size_t>(file->bytes.size), '\0');
  const auto got = file->bytes.read(0, text);
  if (!got) return tl::unexpected(got.error());
  text.resize(*got);
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
  std::size_t done = 0;
  while (done < into.size()) {
    const std::uint64_t at = offset_ + done;
    if (at < window_at_ || at >= window_at_ + window_.size()) {
      window_.resize(kWindow);
      window_at_ = at;
      const auto got = bytes_.read(at, window_);
      window_.resize(got ? *got : 0);
      if (!got || *got == 0) {
        fail_at(at, got ? "the file became shorter" : got.error().message, Errc::kIo);
        return false;
      }
    }
    const auto from = static_cast<std::size_t>(at - window_at_);
    const std::size_t length = std::min(into.size() - done, window_.size() - from);
    std::memcpy(into.data() + done, window_.data() + from, length);
    done += length;
  }
  offset_ += into.size();
  return true;
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
  if (has(length, what)) offset_ += length;
}

}  // namespace jetmem::plan
