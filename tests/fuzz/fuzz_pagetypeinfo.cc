// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  parsed_twice(parse_pagetypeinfo, text, &Pagetypeinfo::rows, &Pagetypeinfo::total_blocks);
}
