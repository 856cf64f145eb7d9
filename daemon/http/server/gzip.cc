// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/gzip.h"

#include <libdeflate.h>

#include "base/text/text.h"
#include "daemon/http/http_text.h"

namespace jetmem {
namespace {

// The fastest level: a page is mostly repetition, and the device has other things to do.
constexpr int kLevel = 1;
using Decompressor =
    std::unique_ptr<libdeflate_decompressor, decltype([](libdeflate_decompressor* reader) {
                      libdeflate_free_decompressor(reader);
                    })>;

// Removes the part before the next `separator`, and returns it trimmed.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trim(part);
}

// Of "gzip ; q = 0.0" what follows the first semicolon. A weight that is no number counts as 0.
bool is_refused(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_part(parameters, ';');
    if (!is_same_name(take_part(value, '='), "q")) continue;
    value = trim(value);
    if (value.find_first_of("123456789") == std::string_view::npos) return true;
    if (value.find_first_not_of("0123456789.") != std::string_view::npos) return true;
  }
  return false;
}

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

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<bool> named;
  bool any = false;
  while (!accept_encoding.empty()) {
    std::string_view item = take_part(accept_encoding, ',');
    const std::string_view coding = take_part(item, ';');
    const bool is_accepted = !is_refused(item);
    if (is_same_name(coding, "gzip") || is_same_name(coding, "x-gzip")) {
      named = named.value_or(false) || is_accepted;
    } else if (coding == "*") {
      any = is_accepted;
    }
  }
  return named.value_or(any);
}

}  // namespace jetmem
