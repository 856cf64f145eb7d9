// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/edac.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  const auto [ok, fresh, reused] =
      parsed_twice(parse_edac, snapshot_of(input, EdacSource::kInfo.paths));
  if (!ok) return;
  if (fresh.controllers != reused.controllers || fresh.modules != reused.modules) __builtin_trap();
  if (fresh.modules.size() > Edac::kMaxModules) __builtin_trap();
}
