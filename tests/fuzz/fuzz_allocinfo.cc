// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/allocinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  Allocinfo fresh;
  if (parse_allocinfo(text, fresh)) check(fresh.largest.size() <= Allocinfo::kMaxShown);
}
