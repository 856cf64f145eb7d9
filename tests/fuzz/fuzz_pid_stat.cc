// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pid_stat.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  (void)parse_pid_stat(text);
  check(parse_resident_pages(text) != 0U);
}
