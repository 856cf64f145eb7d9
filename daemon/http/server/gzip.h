// SPDX-License-Identifier: Apache-2.0
// gzip of /metrics and of the API's answers: JSON shrinks to a tenth, and slow links carry it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

class GzipTexts {
 public:
  // Shorter texts gain nothing; longer ones would hold up the web thread.
  static constexpr std::size_t kLeast = 1'024;
  static constexpr std::size_t kMost = 1U << 20;

  // `gzip` must outlive this object.
  explicit GzipTexts(Gzip& gzip) : gzip_(gzip) {}

  // Compresses each text once for as long as it exists, however many clients request it. Null: its
  // size is outside of the limits, or out of memory.
  std::shared_ptr<const std::string> of(const std::shared_ptr<const std::string>& text);

 private:
  struct Kept {
    std::weak_ptr<const std::string> text;
    std::shared_ptr<const std::string> gzip;
  };
  Gzip& gzip_;
  std::array<Kept, 8> kept_;
  std::size_t next_ = 0;
};

// The text of one gzip member, `size` bytes long. Nothing: out of memory, or not such a member.
std::optional<std::string> gunzip(std::string_view gzip, std::size_t size);

}  // namespace jetmem
