// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/vmstat.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  // Twice: the second time, every name is the one before.
  for (int cycle = 0; cycle < 2; ++cycle) {
    parsed_twice(parse_vmstat, text,
                 each(&Vmstat::fields, &Vmstat::Field::name, &Vmstat::Field::value),
                 each(&Vmstat::parts, &Vmstat::Part::counter, &Vmstat::Part::field));
  }
}
