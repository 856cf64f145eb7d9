#include "daemon/gzip_halves.h"

#include <array>
#include <cstdint>

namespace jetmem {
namespace {

// Pages are mostly repetition: level 1 leaves an eighth of the text in a third of the time that
// level 6 needs to leave a ninth.
constexpr int kLevel = 1;
constexpr int kRaw = -1;  // times the window: no header or trailer of zlib's own
constexpr int kHeadWindow = 15;
constexpr int kHeadMemory = 8;
// A kilobyte or two needs no large tables, and small ones are cleared sooner.
constexpr int kTailWindow = 11;
constexpr int kTailMemory = 3;

// Method deflate, no flags, no time, unknown system.
constexpr std::array<unsigned char, 10> kHeader{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

Bytef* bytes(const char* text) {
  // zlib's input pointer is not const, though it is only read.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

void append_deflated(z_stream& stream, std::string_view text, int flush, std::string& out) {
  deflateReset(&stream);
  stream.next_in = bytes(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::size_t more = deflateBound(&stream, static_cast<uLong>(text.size()));
  do {
    const std::size_t end = out.size();
    out.resize(end + more);
    stream.next_out = bytes(out.data()) + end;
    stream.avail_out = static_cast<uInt>(more);
    deflate(&stream, flush);
    out.erase(out.size() - stream.avail_out);
    // The bound foresees no flush: what is left then is a few bytes.
    more = 64;
  } while (stream.avail_out == 0);
}

void append_little_endian(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

uLong crc_of(std::string_view text) {
  return crc32(0, bytes(text.data()), static_cast<uInt>(text.size()));
}

}  // namespace

GzipHalves::GzipHalves() {
  usable_ = deflateInit2(&head_, kLevel, Z_DEFLATED, kRaw * kHeadWindow, kHeadMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK &&
            deflateInit2(&tail_, kLevel, Z_DEFLATED, kRaw * kTailWindow, kTailMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK;
}

GzipHalves::~GzipHalves() {
  deflateEnd(&head_);
  deflateEnd(&tail_);
}

void GzipHalves::set_head(std::string_view text, std::string& out) {
  out.assign(kHeader.begin(), kHeader.end());
  append_deflated(head_, text, Z_SYNC_FLUSH, out);
  head_crc_ = crc_of(text);
  head_size_ = text.size();
}

void GzipHalves::append_tail(std::string_view text, std::string& out) {
  append_deflated(tail_, text, Z_FINISH, out);
  const uLong crc = crc32_combine(head_crc_, crc_of(text), static_cast<z_off_t>(text.size()));
  append_little_endian(out, static_cast<std::uint32_t>(crc));
  append_little_endian(out, static_cast<std::uint32_t>(head_size_ + text.size()));
}

}  // namespace jetmem
