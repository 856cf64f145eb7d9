// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/tasks/tasks.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 4> kPaths{"/proc/1*/task/1*/stat", "/proc/1*/task/1*/status",
                                                 "/proc/1*/task/1*/wchan", "jetmem:tasks"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Tasks reused;
  jetmem::Tasks fresh;
  const jetmem::Snapshot snapshot =
      jetmem::snapshot_of({reinterpret_cast<const char*>(data), size}, kPaths);
  const bool ok = jetmem::parse_tasks(snapshot, fresh).has_value();
  if (jetmem::parse_tasks(snapshot, reused).has_value() != ok) __builtin_trap();
  if (ok && (fresh.blocked != reused.blocked || fresh.blocked.size() > 64)) __builtin_trap();
  return 0;
}
