// SPDX-License-Identifier: Apache-2.0
// Reads the beginning of a file that may be many gigabytes, a window at a time. What the file says
// of itself (counts, lengths) is not trusted: each read is checked against the file's size and a
// bound on the header.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem::plan {

struct ByteSource {
  std::uint64_t size = 0;
  // Fills `into` from `offset` on; returns how many bytes there were.
  std::function<Result<std::size_t>(std::uint64_t offset, std::span<char> into)> read;
};
ByteSource bytes_of(std::string_view text);

// A regular file; never blocks on a FIFO.
struct ModelBytes {
  UniqueFd fd;
  ByteSource bytes;  // reads through `fd`
};
Result<ModelBytes> open_bytes(const std::string& path);
// The whole text of a file of at most `most` bytes.
Result<std::string> read_text(const std::string& path, std::size_t most);

// Little-endian values from the beginning on. After the first error every value is 0 or empty, so a
// parser asks once, where it matters.
class HeaderReader {
 public:
  HeaderReader(const ByteSource& bytes, std::uint64_t most_bytes)
      : bytes_(bytes), most_bytes_(most_bytes) {}

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  std::uint64_t offset() const { return offset_; }
  void return_to(std::uint64_t offset) { offset_ = offset; }

  // The low `width` bytes of a number.
  std::uint64_t number(std::size_t width, std::string_view what);
  std::string text(std::uint64_t length, std::string_view what);
  void skip(std::uint64_t length, std::string_view what);

  // "byte 24: expected ..., found ...". The first one stays.
  void fail_at(std::uint64_t offset, const std::string& message, Errc code = Errc::kMalformed);

 private:
  // Whether so many bytes follow; else the error says what was expected.
  bool has(std::uint64_t length, std::string_view what);
  bool copy(std::span<char> into);

  const ByteSource& bytes_;
  std::uint64_t most_bytes_;
  std::uint64_t offset_ = 0;
  std::vector<char> window_;
  std::uint64_t window_at_ = 0;
  std::optional<Error> error_;
};

}  // namespace jetmem::plan
