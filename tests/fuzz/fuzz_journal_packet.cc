// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto packet = jetmem::journal::parse_packet(bytes);
  if (!packet) return 0;
  // What parses is what was written.
  std::string again;
  jetmem::journal::write_packet(*packet, again);
  if (again != bytes) __builtin_trap();
  return 0;
}
