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
  // The first bytes of a text, compressed once for all texts that begin so.
  struct Beginning {
    std::string deflate;   // whole blocks (RFC 1951), none the last, up to the end of a byte
    std::size_t size = 0;  // of the text
    std::uint32_t crc = 0;
  };
  // Empty: out of memory, or not possible.
  Beginning begin(std::string_view text);

  // Replaces `out` with `text`, which starts with what `beginning` was made of, as one gzip member
  // (RFC 1952). False: out of memory.
  bool compress(const Beginning& beginning, std::string_view text, std::string& out);
  bool compress(std::string_view text, std::string& out) { return compress({}, text, out); }

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };
  // In space_, where it is valid until the next call. Empty: out of memory.
  std::string_view deflate(std::string_view text);

  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  // Not filled with zeros, as a string's would be: only what is used of it becomes memory.
  std::unique_ptr<char[]> space_;
  std::size_t space_size_ = 0;
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
