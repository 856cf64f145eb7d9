// SPDX-License-Identifier: Apache-2.0
// gzip of answers: a page or JSON shrinks to a tenth, and slow links carry it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace jetmem {

// One compressor, allocated at its first use and kept. The web thread's own.
class Gzip {
 public:
  // Replaces `out` with `text` as one gzip member (RFC 1952). False: out of memory.
  bool compress(std::string_view text, std::string& out);

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
};

// The text of one gzip member, `size` bytes long. Nothing: out of memory, or not such a member.
std::optional<std::string> gunzip(std::string_view gzip, std::size_t size);

}  // namespace jetmem
