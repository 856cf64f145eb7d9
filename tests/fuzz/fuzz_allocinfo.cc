// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "collectors/proc/allocinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  Allocinfo fresh;
  if (!parse_allocinfo(text, fresh)) return;
  if (fresh.largest.size() > Allocinfo::kMaxShown) __builtin_trap();
}
