#include "collectors/pid_stat.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  (void)jetmem::parse_pid_stat(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
