// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  parsed_twice(parse_meminfo, text,
               each(&Meminfo::fields, &Meminfo::Field::name, &Meminfo::Field::value));
}
