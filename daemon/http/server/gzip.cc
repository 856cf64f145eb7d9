// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gzip.h"

#include <libdeflate.h>

namespace jetmem {
namespace {

// The fastest level: a page is mostly repetition, and the device has other things to do.
constexpr int kLevel = 1;
// Method deflate, no flags, no time, fastest compression, unknown system (RFC 1952, 2.3).
constexpr std::string_view kHeader("\x1f\x8b\x08\0\0\0\0\0\x04\xff", 10);
// Kept from one text to the next: a page needs less.
constexpr std::size_t kMostSpace = 256U << 10;
// So little text becomes one block. Where it does not, append_open() refuses it.
constexpr std::size_t kPiece = 9'000;

using Decompressor =
    std::unique_ptr<libdeflate_decompressor, decltype([](libdeflate_decompressor* reader) {
                      libdeflate_free_decompressor(reader);
                    })>;

void append_number(std::uint32_t number, std::string& out) {
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

// Appends `packed`, which is `text` as a whole deflate stream, such that more can follow.
// libdeflate makes whole streams only. The first bit of one block says that it is the last; behind
// it an empty stored block fills the rest of the last byte. Whether the three bits of that block's
// header fit into this byte is not known. So both are tried, and what comes out must decompress to
// `text`, down to its last byte.
bool append_open(libdeflate_decompressor* reader, std::string_view text, std::string_view packed,
                 std::string& out) {
  constexpr std::string_view kEmptyStored("\0\0\0\xff\xff", 5);
  constexpr std::string_view kEmptyLast("\x03\0", 2);
  if (packed.empty()) return false;
  std::string read(text.size(), '\0');
  for (const std::size_t from : {std::size_t{1}, std::size_t{0}}) {
    std::string open(packed);
    open[0] = static_cast<char>(open[0] & ~1);
    open.append(kEmptyStored.substr(from));
    const std::string whole = open + std::string(kEmptyLast);
    std::size_t taken = 0;
    const libdeflate_result result = libdeflate_deflate_decompress_ex(
        reader, whole.data(), whole.size(), read.data(), read.size(), &taken, nullptr);
    if (result != LIBDEFLATE_SUCCESS || taken != whole.size() || read != text) continue;
    out.append(open);
    return true;
  }
  return false;
}

}  // namespace

void Gzip::Free::operator()(libdeflate_compressor* compressor) const {
  libdeflate_free_compressor(compressor);
}

std::string_view Gzip::deflate(std::string_view text) {
  if (!compressor_) compressor_.reset(libdeflate_alloc_compressor(kLevel));
  if (!compressor_) return {};
  const std::size_t bound = libdeflate_deflate_compress_bound(compressor_.get(), text.size());
  if (bound > space_size_) {
    space_ = std::make_unique_for_overwrite<char[]>(bound);
    space_size_ = bound;
  }
  return {space_.get(), libdeflate_deflate_compress(compressor_.get(), text.data(), text.size(),
                                                    space_.get(), space_size_)};
}

Gzip::Beginning Gzip::begin(std::string_view text) {
  Beginning out;
  const Decompressor reader(libdeflate_alloc_decompressor());
  if (!reader) return {};
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    const std::string_view piece = text.substr(at, kPiece);
    if (!append_open(reader.get(), piece, deflate(piece), out.deflate)) return {};
  }
  out.size = text.size();
  out.crc = libdeflate_crc32(0, text.data(), text.size());
  return out;
}

bool Gzip::compress(const Beginning& beginning, std::string_view text, std::string& out) {
  const std::string_view rest = text.substr(beginning.size);
  const std::string_view packed = deflate(rest);
  if (packed.empty()) return false;
  out.assign(kHeader).append(beginning.deflate).append(packed);
  append_number(libdeflate_crc32(beginning.crc, rest.data(), rest.size()), out);
  append_number(static_cast<std::uint32_t>(text.size()), out);
  if (space_size_ > kMostSpace) {
    space_.reset();
    space_size_ = 0;
  }
  return true;
}

std::shared_ptr<const std::string> GzipTexts::of(const std::shared_ptr<const std::string>& text) {
  if (text->size() < kLeast || text->size() > kMost) return nullptr;
  for (Kept& each : kept_) {
    if (each.gzip && each.text.lock() == text) return each.gzip;
    if (each.text.expired()) each = {};
  }
  auto packed = std::make_shared<std::string>();
  if (!gzip_.compress(*text, *packed)) return nullptr;
  packed->shrink_to_fit();
  kept_[next_++ % kept_.size()] = {text, packed};
  return packed;
}

std::optional<std::string> gunzip(std::string_view gzip, std::size_t size) {
  const Decompressor reader(libdeflate_alloc_decompressor());
  if (!reader) return std::nullopt;
  std::string out(size, '\0');
  // Without a place for the actual size, a shorter text is an error too.
  if (libdeflate_gzip_decompress(reader.get(), gzip.data(), gzip.size(), out.data(), out.size(),
                                 nullptr) != LIBDEFLATE_SUCCESS) {
    return std::nullopt;
  }
  return out;
}

}  // namespace jetmem
