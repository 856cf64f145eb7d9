// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_pagetypeinfo, text);
  if (!ok) return;
  if (fresh.rows != reused.rows) __builtin_trap();
  if (fresh.total_blocks() != reused.total_blocks()) __builtin_trap();
}
