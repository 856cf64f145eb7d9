// SPDX-License-Identifier: Apache-2.0
#include "collectors/tasks/tasks.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPaths = expanded({"/proc/1*/task/1*/{stat,status,wchan}", "jetmem:tasks"});
  const auto tasks = parsed_twice(parse_tasks, snapshot_of(input, kPaths), &Tasks::blocked);
  check(!tasks || tasks->blocked.size() <= 64);
}
