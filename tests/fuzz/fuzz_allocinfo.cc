// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "collectors/proc/allocinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_allocinfo, text);
  if (!ok) return;
  if (fresh.largest != reused.largest || fresh.bytes != reused.bytes) __builtin_trap();
  if (fresh.largest.size() > Allocinfo::kMaxShown) __builtin_trap();
}
