#include "history/deflate.h"

#include <zlib.h>

#include <array>

namespace jetmem {
namespace {

// A 4 KiB window: the state is 32 KiB instead of 256, and the columns are shorter than it.
constexpr int kWindow = -12;
constexpr int kMemory = 5;

// Made once in a thread and used for each column.
struct Deflater {
  z_stream stream{};
  bool ready = deflateInit2(&stream, 9, Z_DEFLATED, kWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
  Deflater() = default;
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() {
    if (ready) deflateEnd(&stream);
  }
};

struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, kWindow) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

// zlib takes no const.
Bytef* input_of(std::string_view bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

}  // namespace

bool deflate_bytes(std::string_view bytes, std::string& out) {
  thread_local Deflater deflater;
  if (!deflater.ready || bytes.size() < 16 || deflateReset(&deflater.stream) != Z_OK) return false;
  const std::size_t begin = out.size();
  out.resize(begin + bytes.size());
  deflater.stream.next_in = input_of(bytes);
  deflater.stream.avail_in = static_cast<uInt>(bytes.size());
  deflater.stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
  deflater.stream.avail_out = static_cast<uInt>(bytes.size() - 1);
  const bool fits = deflate(&deflater.stream, Z_FINISH) == Z_STREAM_END;
  out.resize(begin + (fits ? deflater.stream.total_out : 0));
  return fits;
}

Result<std::string> inflate_bytes(std::string_view bytes, std::size_t most) {
  thread_local Inflater inflater;
  if (!inflater.ready || inflateReset(&inflater.stream) != Z_OK) {
    return fail(Errc::kIo, "zlib cannot begin");
  }
  std::string out;
  std::array<char, 4096> piece{};
  inflater.stream.next_in = input_of(bytes);
  inflater.stream.avail_in = static_cast<uInt>(bytes.size());
  for (;;) {
    inflater.stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    inflater.stream.avail_out = piece.size();
    const int state = inflate(&inflater.stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - inflater.stream.avail_out);
    if (out.size() > most) return fail(Errc::kMalformed, "compressed values are too many");
    if (state == Z_STREAM_END) break;
    // No progress is Z_BUF_ERROR, so this ends.
    if (state != Z_OK) return fail(Errc::kMalformed, "compressed values are damaged");
  }
  if (inflater.stream.avail_in != 0) {
    return fail(Errc::kMalformed, "bytes behind the compressed values");
  }
  return out;
}

}  // namespace jetmem
