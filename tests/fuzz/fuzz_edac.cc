// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/edac.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  const auto edac = parsed_twice(parse_edac, snapshot_of(input, EdacSource::kInfo.paths),
                                 &Edac::controllers, &Edac::modules);
  check(!edac || edac->modules.size() <= Edac::kMaxModules);
}
