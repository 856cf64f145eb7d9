// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/cma.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  const auto [ok, fresh, reused] =
      parsed_twice(parse_cma, snapshot_of(input, CmaSource::kInfo.paths));
  if (!ok) return;
  if (fresh.areas.size() > 64 || fresh.total_bytes != reused.total_bytes) __builtin_trap();
  if (fresh.areas != reused.areas || fresh.areas_known != reused.areas_known) __builtin_trap();
  for (const Cma::Area& area : fresh.areas) {
    if (area.total && area.used && *area.used > *area.total) __builtin_trap();
    if (area.total && area.largest_run && *area.largest_run > *area.total) __builtin_trap();
  }
}
