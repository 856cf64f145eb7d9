// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/tasks/tasks.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 4> kPaths{"/proc/1*/task/1*/stat", "/proc/1*/task/1*/status",
                                                 "/proc/1*/task/1*/wchan", "jetmem:tasks"};

}  // namespace

FUZZ(input) {
  const auto [ok, fresh, reused] = parsed_twice(parse_tasks, snapshot_of(input, kPaths));
  if (ok && (fresh.blocked != reused.blocked || fresh.blocked.size() > 64)) __builtin_trap();
}
