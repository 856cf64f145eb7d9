// SPDX-License-Identifier: Apache-2.0
// Reads the beginning of a file that may be many gigabytes, as stdio buffers it. What the file says
// of itself (counts, lengths) is not trusted: each read is checked against the file's size and a
// bound on the header.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jetmem::plan {

// A regular file; opening it never blocks on a FIFO.
struct ModelBytes {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, std::fclose};
  std::uint64_t size = 0;
};
Result<ModelBytes> open_bytes(const std::string& path);
// The whole text of a file of at most `most` bytes.
Result<std::string> read_text(const std::string& path, std::size_t most);

// Little-endian values from the beginning on. After the first error every value is 0 or empty, so a
// parser asks once, where it matters.
class HeaderReader {
 public:
  HeaderReader(const ModelBytes& bytes, std::uint64_t most_bytes)
      : bytes_(bytes), most_bytes_(most_bytes) {
    return_to(0);
  }

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  std::uint64_t offset() const { return offset_; }
  void return_to(std::uint64_t offset);

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

  const ModelBytes& bytes_;
  std::uint64_t most_bytes_;
  std::uint64_t offset_ = 0;
  std::optional<Error> error_;
};

}  // namespace jetmem::plan
