// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  jetmem::Snapshot snapshot;
  if (!jetmem::reader::decode(stream, snapshot)) return 0;
  // What decodes is what was encoded.
  jetmem::ByteBuffer again;
  jetmem::reader::encode(snapshot, again);
  if (again.view() != stream) __builtin_trap();
  return 0;
}
