// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gzip.h"

#include <libdeflate.h>

namespace jetmem {
namespace {

// The fastest level: a page is mostly repetition, and the device has other things to do.
constexpr int kLevel = 1;
using Decompressor =
    std::unique_ptr<libdeflate_decompressor, decltype([](libdeflate_decompressor* reader) {
                      libdeflate_free_decompressor(reader);
                    })>;

}  // namespace

void Gzip::Free::operator()(libdeflate_compressor* compressor) const {
  libdeflate_free_compressor(compressor);
}

bool Gzip::compress(std::string_view text, std::string& out) {
  if (!compressor_) compressor_.reset(libdeflate_alloc_compressor(kLevel));
  if (!compressor_) return false;
  // Not filled with zeros, as the string's would be: only what is used of it becomes memory.
  const std::size_t bound = libdeflate_gzip_compress_bound(compressor_.get(), text.size());
  const auto space = std::make_unique_for_overwrite<char[]>(bound);
  const std::size_t size =
      libdeflate_gzip_compress(compressor_.get(), text.data(), text.size(), space.get(), bound);
  out.assign(space.get(), size);
  return size > 0;
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
