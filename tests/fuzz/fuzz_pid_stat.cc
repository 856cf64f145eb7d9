// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pid_stat.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)jetmem::parse_pid_stat(text);
  if (jetmem::parse_resident_pages(text) == 0U) __builtin_trap();
  return 0;
}
