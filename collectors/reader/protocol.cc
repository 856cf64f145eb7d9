// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/protocol.h"

#include <cstring>

namespace jetmem::reader {

void encode(const Snapshot& snapshot, ByteBuffer& out) {
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    const RecordHeader header{static_cast<std::uint32_t>(file.path.size()),
                              static_cast<std::uint32_t>(file.text.size()), file.error};
    out.append({reinterpret_cast<const char*>(&header), sizeof header});
    out.append(file.path);
    out.append(file.text);
  }
}

Result<void> decode(std::string_view stream, Snapshot& out) {
  while (!stream.empty()) {
    RecordHeader header;
    if (stream.size() < sizeof header) return fail(Errc::kMalformed, "reader: cut record");
    std::memcpy(&header, stream.data(), sizeof header);
    stream.remove_prefix(sizeof header);
    if (header.path_size > stream.size() || header.text_size > stream.size() - header.path_size) {
      return fail(Errc::kMalformed, "reader: record longer than its answer");
    }
    if (header.error != 0 && header.text_size != 0) {
      return fail(Errc::kMalformed, "reader: a file with both an error and text");
    }
    const std::string_view path = stream.substr(0, header.path_size);
    stream.remove_prefix(header.path_size);
    out.add(path, stream.substr(0, header.text_size), header.error);
    stream.remove_prefix(header.text_size);
  }
  return {};
}

}  // namespace jetmem::reader
