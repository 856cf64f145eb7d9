// One gzip member made of two halves: a head that is compressed once and shared by many
// responses, and a short tail that is new for each. Every reader takes it, for it is an ordinary
// member: the head ends on a byte boundary (Z_SYNC_FLUSH), the tail is deflated without reference
// to it, and the checksum of the whole is put together from both (crc32_combine).
#pragma once

#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace jetmem {

class GzipHalves {
 public:
  GzipHalves();
  ~GzipHalves();
  GzipHalves(const GzipHalves&) = delete;
  GzipHalves& operator=(const GzipHalves&) = delete;

  // False when zlib could get no memory: then send plain text.
  bool usable() const { return usable_; }

  // Replaces `out` with the compressed head. Remembers its checksum for the tails to come.
  void set_head(std::string_view text, std::string& out);
  // Appends what completes the member.
  void append_tail(std::string_view text, std::string& out);

 private:
  z_stream head_{};
  z_stream tail_{};
  uLong head_crc_ = 0;
  std::size_t head_size_ = 0;
  bool usable_ = false;
};

}  // namespace jetmem
