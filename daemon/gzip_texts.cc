#include "daemon/gzip_texts.h"

#include <zlib.h>

#include <utility>

namespace jetmem {
namespace {

constexpr int kGzip = 15 + 16;  // windowBits: the largest window, in gzip's frame

// zlib takes no const.
Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

std::shared_ptr<const std::string> compressed(const std::string& text) {
  z_stream stream{};
  // The fastest level: the device has other things to do.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return nullptr;
  }
  auto out = std::make_shared<std::string>();
  out->resize(deflateBound(&stream, text.size()));
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(*out);
  stream.avail_out = static_cast<uInt>(out->size());
  const int result = deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return nullptr;
  out->resize(stream.total_out);
  out->shrink_to_fit();
  return out;
}

}  // namespace

std::shared_ptr<const std::string> GzipTexts::of(const std::shared_ptr<const std::string>& text) {
  if (text->size() < kLeast || text->size() > kMost) return nullptr;
  for (Kept& each : kept_) {
    if (each.gzip && each.text.lock() == text) return each.gzip;
    if (each.text.expired()) each = {};
  }
  auto packed = compressed(*text);
  if (packed) kept_[next_++ % kept_.size()] = {text, packed};
  return packed;
}

std::optional<std::string> gunzip(std::string_view gzip, std::size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) return std::nullopt;
  std::string out(size, '\0');
  stream.next_in = bytes_of(gzip);
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace jetmem
